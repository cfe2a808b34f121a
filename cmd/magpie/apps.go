package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"magpie/bridge/access"
	"magpie/db"
	"magpie/feishu"
	"magpie/internal/chat"
	"magpie/internal/i18n"
	"magpie/internal/operator/config"
)

// feishuApp is an app of Feishu, which is a door.
type feishuApp struct {
	*feishu.Client
	name  string // empty = that of [feishu]
	owned access.App
}

// openFeishu adds the doors of all apps. Each keeps its own connection and rates, so that none waits for another.
func (p *program) openFeishu(ctx context.Context) error {
	for _, a := range p.cfg.FeishuApps() {
		if err := p.checkName(ctx, a); err != nil {
			return err
		}
		found, err := p.store.Access().Owner(ctx, a.AppID, false)
		if err != nil && !errors.Is(err, db.ErrNotFound) {
			return err
		}
		log := p.log
		if a.Name != "" {
			log = log.With().Str("app", a.Name).Logger()
		}
		c := feishu.New(a.Config, log)
		c.ShutWhile(p.store.Place().Lapsed)
		if others := p.store.Place().Living() - 1; others > 0 {
			c.SetShare(1 / float64(firstShare*others))
		}
		app := feishuApp{Client: c, name: a.Name, owned: access.App{ID: a.AppID, Channel: a.Channel(), Found: found}}
		if a.Name == "" {
			app.owned.Founder = c
			p.doors = append(p.doors, c)
		} else {
			named := feishu.NewNamed(c, a.Name)
			app.owned.Founder = named
			p.doors = append(p.doors, named)
		}
		p.apps = append(p.apps, app)
	}
	return nil
}

// checkName returns an error if an app was known under another name. An owner says which: his ID begins with it. Only the app
// without a name may have one whose ID is of another door.
func (p *program) checkName(ctx context.Context, a config.App) error {
	owner, err := p.store.Access().Owner(ctx, a.AppID, true)
	if errors.Is(err, db.ErrNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	was := chat.ChannelOf(owner.User)
	if !chat.IsFurtherApp(was) || a.Name == "" && owner.User == p.cfg.Access.Owner {
		was = chat.AppChannel("")
	}
	if was != a.Channel() {
		return &config.Error{File: p.cfg.File, Err: renamedError(a, was)}
	}
	return nil
}

// renamedError says that an app has another name than before, under which its chats would not be found, and those of another
// app might be.
func renamedError(a config.App, was string) error {
	if was == chat.AppChannel("") {
		return i18n.Mistakef("[[feishu]] 的应用 %s 以前没有 name，它的聊天是这样存的：去掉 name，或者换一个数据库",
			"[[feishu]]: the app %s had no name before, and its chats are kept so: remove the name, or take another database", a.AppID)
	}
	name := strings.TrimPrefix(was, chat.AppChannel("")+"-")
	return i18n.Mistakef("[[feishu]] 的应用 %[1]s 以前叫 %[2]s，它的聊天存在这个名字下：写 name = %[2]q，或者换一个数据库",
		"[[feishu]]: the app %[1]s was named %[2]s before, and its chats are kept under that: write name = %[2]q, or take another database",
		a.AppID, name)
}

// holdApps makes this the only program on the machine that serves these apps.
func (p *program) holdApps() error {
	list := p.cfg.FeishuApps()
	if len(list) == 0 {
		return nil
	}
	var held []io.Closer
	p.unlock = func() (err error) {
		for _, h := range held {
			err = errors.Join(err, h.Close())
		}
		return err
	}
	for _, a := range list {
		h, err := holdApp(a.AppID)
		if err != nil {
			return err
		}
		held = append(held, h)
	}
	return nil
}

// relaySecret is what the bridges of a database know and nobody else does: the secret of the app without a name, else of the
// one with the smallest ID, as files may list apps in different orders.
func relaySecret(c config.Config) string {
	list := c.FeishuApps()
	if len(list) == 0 {
		return ""
	}
	return slices.MinFunc(list, func(a, b config.App) int {
		if a.Name == "" || b.Name == "" {
			return cmp.Compare(a.Name, b.Name)
		}
		return cmp.Compare(a.AppID, b.AppID)
	}).AppSecret
}
