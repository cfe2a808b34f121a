package main

import (
	"context"
	"os/exec"

	"magpie/bridge"
)

// checks are what can be looked at while the program runs. What is wrong is logged; a chat learns only where.
func (p *program) checks() []bridge.Check {
	c := p.cfg
	ask := func(what string, examine func(context.Context, *doctor)) bridge.Check {
		return bridge.Check{What: what, Look: func(ctx context.Context) bridge.CheckState {
			d := &doctor{environ: c.Claude.Environ, lang: en, tell: func(finding) {}}
			examine(ctx, d)
			return p.verdict(what, d.findings)
		}}
	}
	return []bridge.Check{
		ask("cli", func(ctx context.Context, d *doctor) {
			if _, ok := d.installed(ctx, c); !ok && len(d.findings) == 0 {
				d.add(stateFail, "", doctorTexts.CLIFails, c.Claude.Command, exec.ErrNotFound)
			}
		}),
		ask("login", func(ctx context.Context, d *doctor) { d.login(ctx, c, c.Claude.Command) }),
		{What: "platform", Look: func(context.Context) bridge.CheckState {
			if s := p.client.Status(); !s.Connected || s.Away {
				return bridge.Fail
			}
			return bridge.OK
		}},
		{What: "database", Look: func(ctx context.Context) bridge.CheckState {
			if err := p.store.Healthy(ctx); err != nil {
				p.log.Error().Err(err).Msg("check: database")
				return bridge.Fail
			}
			if p.store.Index().Err() != nil { // logged every day
				return bridge.Warn
			}
			return bridge.OK
		}},
		ask("disk", func(_ context.Context, d *doctor) { d.disk(c) }),
	}
}

// verdict is the worst of the findings. All that are not fine are logged.
func (p *program) verdict(what string, findings []finding) bridge.CheckState {
	worst := bridge.OK
	for _, f := range findings {
		v := map[verdict]bridge.CheckState{stateOK: bridge.OK, stateWarn: bridge.Warn, stateFail: bridge.Fail}[f.Verdict]
		if v != bridge.OK {
			p.log.Warn().Str("what", f.What).Str("do", f.Do).Msg("check: " + what)
		}
		worst = max(worst, v)
	}
	return worst
}
