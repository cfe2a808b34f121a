package feishu

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/larksuite/oapi-sdk-go/v3/scene/registration"

	"magpie/feishu/openapi"
	"magpie/internal/i18n"
)

// The hosts on which apps are created.
const (
	accountsFeishu = "https://accounts.feishu.cn"
	accountsLark   = "https://accounts.larksuite.com"
)

// Ways in which a registration fails.
var (
	ErrDeclined = i18n.Mistakef("已在手机上取消", "it was canceled on the phone")
	ErrExpired  = i18n.Mistakef("二维码已过期", "the QR code has expired")
	// ErrUncertain accompanies another error: the reply with the credentials may have been lost.
	ErrUncertain = i18n.Mistakef("等待期间网络中断过，应用可能已经创建",
		"the connection was lost while waiting, so the app may exist anyway")
)

// RegisteredApp is a newly created app.
type RegisteredApp struct {
	Config Config // of the app
	User   string // open_id of its creator; empty = not reported
}

// Register creates an app with the events, callbacks and permissions that it needs. Its name is only proposed: the page
// on which a user confirms it can change it. show gets the URL of that page, which people usually scan, and how long it
// is valid. Register polls the platform until the app is created.
func Register(
	ctx context.Context, cfg Config, name string, show func(address string, good time.Duration),
) (RegisteredApp, error) {
	accounts, lark := cfg.accountsURL(), accountsLark
	if accounts != accountsFeishu {
		lark = accounts
	}
	registerPollScheme()
	var lost atomic.Int32
	made, err := registration.RegisterApp(context.WithValue(ctx, lostPolls{}, &lost), &registration.Options{
		Source: "magpie", Domain: pollScheme + accounts, LarkDomain: pollScheme + lark,
		AppPreset: &registration.AppPreset{Name: name},
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
		err = explainRegister(err)
	}
	if interrupted {
		return errors.Join(err, ErrUncertain)
	}
	return err
}

// explainRegister adds to an error of the network what to check: nobody has got as far as a configuration yet.
func explainRegister(err error) error {
	var failed *registration.RegisterAppError
	switch {
	case errors.As(err, new(*url.Error)):
		return i18n.Mistakef("%v；请检查网络，需要代理时设置环境变量 HTTPS_PROXY",
			"%v; check the network, and set the variable HTTPS_PROXY if it needs a proxy", openapi.WithoutURL(err))
	case errors.As(err, new(*json.SyntaxError)), errors.As(err, &failed) && failed.Code == "invalid_response":
		return i18n.Mistakef("收到的不是飞书的响应：网络里可能有代理，或者需要先在网页上登录",
			"the response did not come from Feishu: there may be a proxy in the network, or a page to log in to first")
	case failed != nil:
		return i18n.Mistakef("飞书拒绝了请求：%s（%s）", "Feishu rejected the request: %s (%s)", failed.Description, failed.Code)
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
	slices.Sort(a.Scopes.Tenant) // similar ones side by side are compressed better: the QR code stays small
	slices.Sort(a.Events.Items.Tenant)
	a.Callbacks.Items = requiredCallbacks
	return &a
}
