package main

import (
	"context"
	"errors"
	"time"

	"magpie/feishu"
)

// chooseApp finds the app, asks the platform about it, and finds its owner.
func (u *setup) chooseApp(ctx context.Context) error {
	u.say(setupTexts.AppHead)
	u.feishu.BaseURL = u.Host
	scan := u.Scan
	if !scan && u.AppID == "" {
		if u.Yes {
			return &configError{errors.New(u.lang.say(setupTexts.NeedsApp))}
		}
		n, err := u.pick(ctx, setupTexts.AppHow, setupTexts.AppScan, setupTexts.AppEnter)
		if err != nil {
			return err
		}
		scan = n == 0
	}
	who := ""
	if scan {
		made, err := u.register(ctx)
		if err != nil {
			return err
		}
		who = made.User
	}
	for {
		if !scan {
			if err := u.credentials(ctx); err != nil {
				return err
			}
		}
		u.say(setupTexts.Asking)
		var owner string
		var taken bool
		u.feishu, owner, taken = u.examine(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case u.Owner == "" && owner != "":
			u.Owner = owner // of what the platform tells, this is about the very app
		case u.Owner == "":
			u.Owner = who
		}
		if taken || scan { // what a registration has given is good, even when the platform cannot be asked
			return nil
		}
		if u.quiet {
			return errors.New(u.lang.say(setupTexts.NotTaken))
		}
		if yes, err := u.confirm(ctx, setupTexts.GoOn, false); err != nil || yes {
			return err
		}
		u.say(setupTexts.TryAgain)
		u.AppID, u.Secret = "", ""
	}
}

// register lets somebody create an app by scanning, as often as he wants to try.
func (u *setup) register(ctx context.Context) (feishu.Registered, error) {
	for {
		made, err := feishu.Register(ctx, u.feishu, u.show)
		switch {
		case err == nil:
			u.feishu, u.made = made.Config, made.Config.AppID
			u.say(setupTexts.Created, u.made)
			return made, nil
		case ctx.Err() != nil:
			return made, ctx.Err()
		case errors.Is(err, feishu.ErrDeclined):
			u.say(setupTexts.Declined)
		case errors.Is(err, feishu.ErrExpired):
			u.say(setupTexts.Expired)
		default:
			u.say(setupTexts.Unregistered, err)
		}
		if u.quiet {
			return made, err
		}
		if again, askErr := u.confirm(ctx, setupTexts.Again, true); askErr != nil || !again {
			return made, errors.Join(err, askErr)
		}
	}
}

// show draws the address that is to be scanned.
func (u *setup) show(address string, good time.Duration) {
	u.say(setupTexts.Scan)
	if code := qrCode(address, u.columns()); code != "" {
		u.print("\n" + code + "\n")
	} else if u.columns() > 0 {
		u.say(setupTexts.ScanWide)
	}
	u.print(address + "\n\n")
	u.say(setupTexts.Waiting, int(good.Minutes()))
}

// credentials asks for what flags do not give.
func (u *setup) credentials(ctx context.Context) (err error) {
	u.feishu.AppID = u.AppID
	if u.AppID == "" {
		u.say(setupTexts.EnterFrom, "https://open.feishu.cn/app", "https://open.larksuite.com/app")
		if u.feishu.AppID, err = u.ask(ctx, setupTexts.AppID, ""); err != nil {
			return err
		}
	}
	switch {
	case u.Secret != "":
		u.feishu.AppSecret, err = u.readSecret()
	case u.quiet:
		err = &configError{errors.New(u.lang.say(setupTexts.NeedsApp))}
	default:
		u.feishu.AppSecret, err = u.secret(ctx, setupTexts.AppSecret)
	}
	return err
}

// examine asks the platform about the app, both public ones unless it is known which. It gives the configuration that
// was taken, and the app's owner.
func (u *setup) examine(ctx context.Context) (c feishu.Config, owner string, taken bool) {
	hosts := []string{u.feishu.BaseURL}
	if u.feishu.BaseURL == "" {
		hosts = []string{"", "lark"}
	}
	c = home(ctx, u.feishu, hosts)
	doc := u.doctor()
	for _, e := range each(c.Validate()) {
		doc.add(stateFail, u.lang.say(setupTexts.TryAgain), doctorTexts.ConfigWrong, e)
	}
	full := defaults()
	full.Feishu = c
	found := doc.platform(ctx, full)
	if doc.found(stateFail) || doc.found(stateWarn) {
		u.say(setupTexts.ConsoleAfter)
	}
	return c, found.App.Owner, c.Validate() == nil && found.Credentials == nil
}

// home gives the app the first host that knows it; the first at all when none does.
func home(ctx context.Context, c feishu.Config, hosts []string) feishu.Config {
	for _, host := range hosts {
		c.BaseURL = host
		if len(hosts) > 1 && c.Validate() == nil && feishu.Check(ctx, c).Refused() {
			continue
		}
		return c
	}
	c.BaseURL = hosts[0]
	return c
}
