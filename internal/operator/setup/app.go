package setup

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"magpie/feishu"
	"magpie/internal/i18n"
	"magpie/internal/operator/config"
	"magpie/internal/operator/doctor"
)

// chooseApp finds the app, asks the platform about it, and finds its owner.
func (u *setup) chooseApp(ctx context.Context) error {
	u.say(i18n.SetupAppHead)
	u.feishu.BaseURL = u.Platform
	for {
		if chosen, err := u.tryApp(ctx); err != nil || chosen {
			return err
		}
	}
}

// tryApp gets an app in the way that the operator chooses, and checks it. It returns false if the operator wants to
// choose again.
func (u *setup) tryApp(ctx context.Context) (chosen bool, err error) {
	asks, scan := !u.Scan && u.AppID == "", u.Scan
	if asks {
		n, err := u.pick(ctx, i18n.SetupAppHow, i18n.SetupAppScan, i18n.SetupAppEnter)
		if err != nil {
			return false, err
		}
		scan = n == 0
	}
	if !scan {
		return u.enterApp(ctx)
	}
	made, err := u.registerApp(ctx)
	switch {
	case errors.Is(err, errNoApp) && asks:
		return false, nil
	case errors.Is(err, errNoApp):
		return false, errors.New(i18n.SetupNoApp.Sprintf(u.lang))
	case err != nil:
		return false, err
	}
	// Registered credentials are valid, even if the platform cannot be asked.
	_, err = u.acceptApp(ctx, made.User)
	return true, err
}

// enterApp uses an existing app. It returns false if the operator wants to choose again.
func (u *setup) enterApp(ctx context.Context) (chosen bool, err error) {
	for {
		if entered, err := u.enterCredentials(ctx); err != nil || !entered {
			return false, err
		}
		taken, err := u.acceptApp(ctx, "")
		if err != nil || taken {
			return taken, err
		}
		if u.unattended {
			return false, errors.New(i18n.SetupNotTaken.Sprintf(u.lang))
		}
		// What is no secret at all would be refused by the check of the configuration.
		if u.feishu.Validate() == nil {
			if yes, err := u.confirm(ctx, i18n.SetupGoOn, false); err != nil || yes {
				return yes, err
			}
		}
		u.say(i18n.SetupTryAgain)
		u.AppID, u.SecretFile = "", ""
	}
}

// acceptApp reports whether the platform accepts the app, and finds its owner; creator is who made it just now.
func (u *setup) acceptApp(ctx context.Context, creator string) (taken bool, err error) {
	u.say(i18n.SetupAsking)
	var owner string
	u.feishu, owner, taken = u.checkApp(ctx)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if u.Owner == "" {
		u.Owner = cmp.Or(owner, creator) // this app's owner, as the platform names it
	}
	return taken, nil
}

// errNoApp means that no app was created, and that the operator does not want to try again.
var errNoApp = errors.New("no app was created")

// registerApp creates an app by the scan of a QR code, with as many attempts as the operator wants.
func (u *setup) registerApp(ctx context.Context) (feishu.RegisteredApp, error) {
	for {
		name := i18n.SetupAppName.In(u.lang)
		made, err := feishu.Register(ctx, u.feishu, name, func(address string, good time.Duration) {
			u.showQRCode(ctx, address, good)
		})
		switch {
		case err == nil:
			u.feishu, u.createdApp = made.Config, made.Config.AppID
			u.say(i18n.SetupCreated, u.createdApp)
			return made, nil
		case ctx.Err() != nil:
			return made, ctx.Err()
		case errors.Is(err, feishu.ErrUncertain):
			u.say(i18n.SetupMaybeCreated, name, strings.Join(u.feishu.Apps(), " , "))
		case errors.Is(err, feishu.ErrDeclined):
			u.say(i18n.SetupDeclined)
		case errors.Is(err, feishu.ErrExpired):
			u.say(i18n.SetupExpired)
		default:
			u.say(i18n.SetupUnregistered, err)
		}
		// Nobody would scan another code.
		if u.unattended {
			return made, errNoApp
		}
		if again, err := u.confirm(ctx, i18n.SetupAgain, true); err != nil {
			return made, err
		} else if !again {
			return made, errNoApp
		}
	}
}

// showQRCode shows the address to scan. The link comes first: what follows the code would push its upper edge off the
// screen. Where the code has no room, setup offers to open the link in a browser, or to draw it in a larger window.
func (d *dialog) showQRCode(ctx context.Context, address string, good time.Duration) {
	d.say(i18n.SetupScan)
	d.print("\n" + address + "\n\n")
	if !d.drawQRCode(address) && !d.unattended && !d.offerBrowser(ctx, address) {
		if _, err := d.prompt(ctx, i18n.SetupEnlarge, ""); err == nil { // with ctx, the registration ends as well
			d.drawQRCode(address)
		}
	}
	d.say(i18n.SetupWaiting, int(good.Minutes()))
}

// drawQRCode draws an address as a code, or says that the terminal has no room for it.
func (d *dialog) drawQRCode(address string) (fits bool) {
	columns, rows := d.size()
	// Two rows below the code are needed: for the text, and for the cursor.
	const below = 2
	code, wide, high := qrCode(address, columns, rows-below)
	d.print(code)
	if code == "" && columns > 0 {
		d.say(i18n.SetupScanSmall, wide, high+below, columns, rows)
		return false
	}
	return true
}

// enterCredentials asks for values without flags. It returns false if the operator wants to go back.
func (u *setup) enterCredentials(ctx context.Context) (entered bool, err error) {
	byFlag := u.AppID != ""
	if !byFlag {
		u.say(i18n.SetupEnterFrom, "https://open.feishu.cn/app", "https://open.larksuite.com/app")
	}
	for {
		if u.feishu.AppID = u.AppID; !byFlag {
			if u.feishu.AppID, err = u.promptAppID(ctx); err != nil || u.feishu.AppID == "" {
				return false, err
			}
		}
		if u.SecretFile != "" {
			u.feishu.AppSecret = u.fileSecret
			return true, nil
		}
		if u.feishu.AppSecret, err = u.secret(ctx, i18n.SetupAppSecret); err != nil {
			return false, err
		}
		bad := u.feishu.Validate()
		switch {
		case bad == nil:
			return true, nil
		case u.feishu.AppSecret == "":
			u.say(i18n.SetupNoSecret)
		default:
			u.print(i18n.ErrorText(u.lang, bad) + "\n")
		}
	}
}

// promptAppID asks until it gets an App ID: the configuration would be refused with another one. It is empty if the
// operator wants to go back.
func (d *dialog) promptAppID(ctx context.Context) (string, error) {
	for {
		id, err := d.prompt(ctx, i18n.SetupAppID, "")
		if id = foldWidth(id); err != nil || id == "" || feishu.IsAppID(id) {
			return id, err
		}
		d.say(i18n.SetupNotAppID, id)
	}
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
	r.AddMistakes(c.Validate(), i18n.SetupTryAgain.Sprintf(u.lang))
	full := config.Defaults()
	full.Feishu = c
	found := doctor.CheckPlatform(ctx, r, full)
	taken = c.Validate() == nil && found.Credentials == nil
	// Where nobody can be asked, an app that is refused leaves no configuration, without which doctor checks nothing.
	saved := taken || u.Scan || !u.unattended
	if saved && (r.Has(doctor.Fail) || r.Has(doctor.Warn)) {
		u.say(i18n.SetupConsoleAfter)
	}
	return c, found.App.Owner, taken
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
