package main

import (
	"context"
	"errors"
	"io"

	"magpie/bridge/access"
	"magpie/db"
	"magpie/feishu"
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
		found, err := p.store.Access().Owner(ctx, a.AppID)
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

// relaySecret is what the bridges of a database know and nobody else does: the secret of the first app.
func (p *program) relaySecret() string {
	for _, a := range p.cfg.FeishuApps() {
		return a.AppSecret
	}
	return ""
}
