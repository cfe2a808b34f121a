package setup

import (
	"context"
	"errors"
	"strings"
	"time"

	"magpie/feishu"
	"magpie/internal/config"
	"magpie/internal/doctor"
)

// chooseApp finds the app, asks the platform about it, and finds its owner.
func (u *setup) chooseApp(ctx context.Context) error {
	u.say(textAppHead)
	u.feishu.BaseURL = u.Platform
	scan := u.Scan
	if !scan && u.AppID == "" {
		if u.Yes {
			return &config.Error{Err: errors.New(textNeedsApp.Sprintf(u.lang))}
		}
		n, err := u.pick(ctx, textAppHow, textAppScan, textAppEnter)
		if err != nil {
			return err
		}
		scan = n == 0
	}
	who := ""
	if scan {
		made, err := u.registerApp(ctx)
		if err != nil {
			return err
		}
		who = made.User
	}
	for {
		if !scan {
			if err := u.enterCredentials(ctx); err != nil {
				return err
			}
		}
		u.say(textAsking)
		var owner string
		var taken bool
		u.feishu, owner, taken = u.checkApp(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case u.Owner == "" && owner != "":
			u.Owner = owner // the owner of this app, as the platform names it
		case u.Owner == "":
			u.Owner = who
		}
		if taken || scan { // registered credentials are valid, even if the platform cannot be asked
			return nil
		}
		if u.unattended {
			return errors.New(textNotTaken.Sprintf(u.lang))
		}
		if yes, err := u.confirm(ctx, textGoOn, false); err != nil || yes {
			return err
		}
		u.say(textTryAgain)
		u.AppID, u.SecretFile = "", ""
	}
}

// registerApp creates an app by the scan of a QR code, with as many attempts as the operator wants.
func (u *setup) registerApp(ctx context.Context) (feishu.RegisteredApp, error) {
	for {
		made, err := feishu.Register(ctx, u.feishu, func(address string, good time.Duration) {
			u.showQRCode(ctx, address, good)
		})
		switch {
		case err == nil:
			u.feishu, u.createdApp = made.Config, made.Config.AppID
			u.say(textCreated, u.createdApp)
			return made, nil
		case ctx.Err() != nil:
			return made, ctx.Err()
		case errors.Is(err, feishu.ErrUncertain):
			u.say(textMaybeCreated, strings.Join(u.feishu.Apps(), " , "))
		case errors.Is(err, feishu.ErrDeclined):
			u.say(textDeclined)
		case errors.Is(err, feishu.ErrExpired):
			u.say(textExpired)
		case u.unattended:
			return made, errors.New(textUnregistered.Sprintf(u.lang, err))
		default:
			u.say(textUnregistered, err)
		}
		// Nobody would scan another code.
		if u.unattended {
			return made, err
		}
		if again, askErr := u.confirm(ctx, textAgain, true); askErr != nil || !again {
			return made, errors.Join(err, askErr)
		}
	}
}

// showQRCode shows the address to scan. The link comes first: what follows the code would push its upper edge off the
// screen. Where the code has no room, setup offers to open the link in a browser.
func (u *setup) showQRCode(ctx context.Context, address string, good time.Duration) {
	u.say(textScan)
	u.print("\n" + address + "\n\n")
	columns, rows := u.size()
	// Two rows below the code are needed: for the text, and for the cursor.
	const below = 2
	code, wide, high := qrCode(address, columns, rows-below)
	u.print(code)
	if code == "" && columns > 0 {
		u.say(textScanSmall, wide, high+below, columns, rows)
		u.offerBrowser(ctx, address)
	}
	u.say(textWaiting, int(good.Minutes()))
}

// enterCredentials asks for values without flags.
func (u *setup) enterCredentials(ctx context.Context) (err error) {
	u.feishu.AppID = u.AppID
	if u.AppID == "" {
		u.say(textEnterFrom, "https://open.feishu.cn/app", "https://open.larksuite.com/app")
		if u.feishu.AppID, err = u.prompt(ctx, textAppID, ""); err != nil {
			return err
		}
	}
	switch {
	case u.SecretFile != "":
		u.feishu.AppSecret, err = u.readSecret()
	case u.unattended:
		err = &config.Error{Err: errors.New(textNeedsApp.Sprintf(u.lang))}
	default:
		u.feishu.AppSecret, err = u.secret(ctx, textAppSecret)
	}
	return err
}

// checkApp checks the credentials with the platform, or with both Feishu and Lark if it is unknown which. It returns
// the accepted configuration, and the app's owner.
func (u *setup) checkApp(ctx context.Context) (c feishu.Config, owner string, taken bool) {
	hosts := []string{u.feishu.BaseURL}
	if u.feishu.BaseURL == "" {
		hosts = []string{"", "lark"}
	}
	c = findHost(ctx, u.feishu, hosts)
	r := u.report()
	r.AddMistakes(c.Validate(), textTryAgain.Sprintf(u.lang))
	full := config.Defaults()
	full.Feishu = c
	found := doctor.CheckPlatform(ctx, r, full)
	if r.Has(doctor.Fail) || r.Has(doctor.Warn) {
		u.say(textConsoleAfter)
	}
	return c, found.App.Owner, c.Validate() == nil && found.Credentials == nil
}

// findHost sets the first host that does not refuse the app; if all do, the first one.
func findHost(ctx context.Context, c feishu.Config, hosts []string) feishu.Config {
	for _, host := range hosts {
		c.BaseURL = host
		if len(hosts) > 1 && c.Validate() == nil && feishu.Check(ctx, c).IsRefused() {
			continue
		}
		return c
	}
	c.BaseURL = hosts[0]
	return c
}
