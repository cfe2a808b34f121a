package feishu

import (
	"context"
	"errors"
	"slices"
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
	made, err := registration.RegisterApp(ctx, &registration.Options{
		Source: "magpie", Domain: accounts, LarkDomain: lark,
		AppPreset: &registration.AppPreset{Name: "Magpie"},
		Addons:    wanted(),
		OnQRCode: func(code *registration.QRCodeInfo) {
			show(code.URL, time.Duration(code.ExpireIn)*time.Second)
		},
	})
	var declined *registration.AccessDeniedError
	var expired *registration.ExpiredError
	switch {
	case ctx.Err() != nil:
		return Registered{}, ctx.Err()
	case errors.As(err, &declined):
		return Registered{}, ErrDeclined
	case errors.As(err, &expired), errors.Is(err, context.DeadlineExceeded):
		return Registered{}, ErrExpired
	case err != nil:
		return Registered{}, openapi.Cause(err)
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

// wanted is what the confirmation page requests beyond the defaults of such apps. Sensitive permissions can be
// requested in the console only.
func wanted() *registration.AppAddons {
	var a registration.AppAddons
	for _, any := range requiredScopes {
		if !slices.Contains(a.Scopes.Tenant, any[0]) {
			a.Scopes.Tenant = append(a.Scopes.Tenant, any[0])
		}
	}
	a.Events.Items.Tenant = requiredEvents
	a.Callbacks.Items = requiredCallbacks
	return &a
}
