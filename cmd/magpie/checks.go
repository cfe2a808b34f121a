package main

import (
	"context"
	"os/exec"
	"slices"

	"magpie/bridge"
	"magpie/internal/i18n"
	"magpie/internal/operator/doctor"
)

// checks are the checks that /doctor can run in a chat. Details are only logged: error texts may contain paths and
// addresses that a chat should not see.
func (p *program) checks() []bridge.Check {
	c := p.cfg
	cli := doctor.CLI{Config: c.Claude, Environ: c.Claude.Environ}
	ask := func(what string, examine func(context.Context, *doctor.Report)) bridge.Check {
		return bridge.Check{What: what, Look: func(ctx context.Context) bridge.CheckState {
			r := &doctor.Report{Lang: i18n.English}
			examine(ctx, r)
			return p.worstState(what, r.Findings)
		}}
	}
	list := []bridge.Check{
		ask("cli", func(ctx context.Context, r *doctor.Report) {
			switch _, ok := cli.CheckVersion(ctx, r); {
			case ok:
				cli.CheckStart(ctx, r, c.BridgeConfig())
			case len(r.Findings) == 0:
				cli.AddRunFailure(r, exec.ErrNotFound)
			}
		}),
		ask("login", func(ctx context.Context, r *doctor.Report) { cli.CheckLogin(ctx, r) }),
		{What: "database", Look: func(ctx context.Context) bridge.CheckState {
			if err := p.store.CheckHealth(ctx); err != nil {
				p.log.Error().Err(err).Msg("check: database")
				return bridge.Fail
			}
			if p.store.Search().Err() != nil { // logged every day
				return bridge.Warn
			}
			return bridge.OK
		}},
		ask("disk", func(_ context.Context, r *doctor.Report) { doctor.CheckDisk(r, c) }),
	}
	if c.HasFeishu() {
		list = slices.Insert(list, 2, bridge.Check{What: "platform", Look: func(context.Context) bridge.CheckState {
			if h := p.doors.Health(); !h.Connected || h.CircuitOpen {
				return bridge.Fail
			}
			return bridge.OK
		}})
	}
	return list
}

// checkStates converts states, because bridge must not import doctor, which imports it.
var checkStates = map[doctor.State]bridge.CheckState{
	doctor.OK: bridge.OK, doctor.Warn: bridge.Warn, doctor.Fail: bridge.Fail,
}

// worstState returns the worst state among the findings, and logs each finding that is not OK.
func (p *program) worstState(what string, findings []doctor.Finding) bridge.CheckState {
	worst := bridge.OK
	for _, f := range findings {
		v := checkStates[f.State]
		if v != bridge.OK {
			p.log.Warn().Str("check", what).Str("what", f.What).Str("do", f.Do).Msg("a check has found something")
		}
		worst = max(worst, v)
	}
	return worst
}
