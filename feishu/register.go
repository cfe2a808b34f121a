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

// The hosts on which people create apps.
const (
	accountsFeishu = "https://accounts.feishu.cn"
	accountsLark   = "https://accounts.larksuite.com"
)

// Ways in which a registration fails.
var (
	ErrDeclined = errors.New("the app was not wanted on the phone")
	ErrExpired  = errors.New("the code was not scanned in time")
	// ErrUncertain is in addition to why a registration failed: the answer with the credentials may have been lost.
	ErrUncertain = errors.New("the connection was lost meanwhile, so the app may exist all the same")
)

// Registered is an app that somebody has created.
type Registered struct {
	Config Config // of the app
	User   string // open_id of its creator; empty = not reported
}

// Register creates an app with the events, callbacks and permissions that it needs. show gets the URL that somebody has
// to open, usually by scanning it, and how long it is valid. Register polls the platform until that is done.
func Register(ctx context.Context, cfg Config, show func(address string, good time.Duration)) (Registered, error) {
	accounts, lark := cfg.accountsURL(), accountsLark
	if accounts != accountsFeishu {
		lark = accounts
	}
	registerPollScheme()
	var lost atomic.Int32
	made, err := registration.RegisterApp(context.WithValue(ctx, lostPolls{}, &lost), &registration.Options{
		Source: "magpie", Domain: pollScheme + accounts, LarkDomain: pollScheme + lark,
		AppPreset: &registration.AppPreset{Name: "Magpie"},
		Addons:    wanted(),
		OnQRCode: func(code *registration.QRCodeInfo) {
			show(code.URL, time.Duration(code.ExpireIn)*time.Second)
		},
	})
	switch {
	case ctx.Err() != nil:
		return Registered{}, ctx.Err()
	case err != nil:
		return Registered{}, registerError(err, lost.Load() > 0)
	}
	cfg.AppID, cfg.AppSecret = made.ClientID, made.ClientSecret
	got := Registered{Config: cfg}
	if who := made.UserInfo; who != nil {
		got.User = who.OpenID
		if who.TenantBrand == "lark" && accounts == accountsFeishu {
			got.Config.BaseURL = "lark"
		}
	}
	return got, nil
}

// registerError converts an error of the SDK. interrupted says that polls went without an answer.
func registerError(err error, interrupted bool) error {
	var declined *registration.AccessDeniedError
	var expired *registration.ExpiredError
	switch {
	case errors.As(err, &declined):
		return ErrDeclined
	case errors.As(err, &expired), errors.Is(err, context.DeadlineExceeded):
		err = ErrExpired
	default:
		err = openapi.Cause(err)
	}
	if interrupted {
		return errors.Join(err, ErrUncertain)
	}
	return err
}

// wanted is what the confirmation page requests beyond the defaults of such apps. Sensitive permissions can be
// requested in the console only. So are those that only some configurations need, as [ForBots]: with one more the code
// does not fit into a terminal of 80 columns. The doctor names them, with the console's address.
func wanted() *registration.AppAddons {
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
