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
		return bridge.Check{What: what, Look: func(ctx context.Context) bridge.Verdict {
			d := &doctor{environ: c.Claude.Environ, lang: en, tell: func(finding) {}}
			examine(ctx, d)
			return p.verdict(what, d.findings)
		}}
	}
	return []bridge.Check{
		ask("cli", func(ctx context.Context, d *doctor) {
			if _, ok := d.installed(ctx, c); !ok && len(d.findings) == 0 {
				d.add(wrong, "", doctorTexts.CLIFails, c.Claude.Command, exec.ErrNotFound)
			}
		}),
		ask("login", func(ctx context.Context, d *doctor) { d.login(ctx, c, c.Claude.Command) }),
		{What: "platform", Look: func(context.Context) bridge.Verdict {
			if s := p.client.Status(); !s.Connected || s.Away {
				return bridge.Wrong
			}
			return bridge.Fine
		}},
		{What: "database", Look: func(ctx context.Context) bridge.Verdict {
			if err := p.store.Healthy(ctx); err != nil {
				p.log.Error().Err(err).Msg("check: database")
				return bridge.Wrong
			}
			if p.store.Index().Err() != nil { // logged every day
				return bridge.Doubt
			}
			return bridge.Fine
		}},
		ask("disk", func(_ context.Context, d *doctor) { d.disk(c) }),
	}
}

// verdict is the worst of the findings. All that are not fine are logged.
func (p *program) verdict(what string, findings []finding) bridge.Verdict {
	worst := bridge.Fine
	for _, f := range findings {
		v := map[verdict]bridge.Verdict{fine: bridge.Fine, doubt: bridge.Doubt, wrong: bridge.Wrong}[f.Verdict]
		if v != bridge.Fine {
			p.log.Warn().Str("what", f.What).Str("do", f.Do).Msg("check: " + what)
		}
		worst = max(worst, v)
	}
	return worst
}
