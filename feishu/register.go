package feishu

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/larksuite/oapi-sdk-go/v3/scene/registration"

	"magpie/feishu/openapi"
)

// The hosts on which apps are created.
const (
	accountsFeishu = "https://accounts.feishu.cn"
	accountsLark   = "https://accounts.larksuite.com"
)

// Ways in which a registration fails.
var (
	ErrDeclined = errors.New("the app was not wanted on the phone")
	ErrExpired  = errors.New("the code was not scanned in time")
	// ErrUncertain accompanies another error: the reply with the credentials may have been lost.
	ErrUncertain = errors.New("the connection was lost meanwhile, so the app may exist anyway")
)

// RegisteredApp is a newly created app.
type RegisteredApp struct {
	Config Config // of the app
	User   string // open_id of its creator; empty = not reported
}

// Register creates an app with the events, callbacks and permissions that it needs. show gets the URL that a user has
// to open, usually by scanning it, and how long it is valid. Register polls the platform until the app is created.
func Register(ctx context.Context, cfg Config, show func(address string, good time.Duration)) (RegisteredApp, error) {
	accounts, lark := cfg.accountsURL(), accountsLark
	if accounts != accountsFeishu {
		lark = accounts
	}
	registerPollScheme()
	var lost atomic.Int32
	made, err := registration.RegisterApp(context.WithValue(ctx, lostPolls{}, &lost), &registration.Options{
		Source: "magpie", Domain: pollScheme + accounts, LarkDomain: pollScheme + lark,
		AppPreset: &registration.AppPreset{Name: "Magpie"},
		Addons:    requestedAddons(),
		OnQRCode: func(code *registration.QRCodeInfo) {
			show(code.URL, time.Duration(code.ExpireIn)*time.Second)
		},
	})
	switch {
	case ctx.Err() != nil:
		return RegisteredApp{}, ctx.Err()
	case err != nil:
		return RegisteredApp{}, registerError(err, lost.Load() > 0)
	}
	cfg.AppID, cfg.AppSecret = made.ClientID, made.ClientSecret
	got := RegisteredApp{Config: cfg}
	if who := made.UserInfo; who != nil {
		got.User = who.OpenID
		if who.TenantBrand == "lark" && accounts == accountsFeishu {
			got.Config.BaseURL = "lark"
		}
	}
	return got, nil
}

// registerError converts an error of the SDK. interrupted means that polls went without a reply.
func registerError(err error, interrupted bool) error {
	var declined *registration.AccessDeniedError
	var expired *registration.ExpiredError
	switch {
	case errors.As(err, &declined):
		return ErrDeclined
	case errors.As(err, &expired), errors.Is(err, context.DeadlineExceeded):
		err = ErrExpired
	default:
		err = openapi.WithoutURL(err)
	}
	if interrupted {
		return errors.Join(err, ErrUncertain)
	}
	return err
}

// requestedAddons is what the confirmation page requests beyond the defaults of such apps. Sensitive permissions can
// only be requested in the console. So are those that only some configurations need, such as [ForBots]: with one more,
// the code does not fit into a terminal of 80 columns. The doctor names them, with the console's address.
func requestedAddons() *registration.AppAddons {
	var a registration.AppAddons
	for _, any := range requiredScopes {
		if !slices.Contains(a.Scopes.Tenant, any[0]) {
			a.Scopes.Tenant = append(a.Scopes.Tenant, any[0])
		}
	}
	a.Events.Items.Tenant = append(slices.Clone(requiredEvents), eventRead)
	a.Callbacks.Items = requiredCallbacks
	return &a
}
