package main

import (
	"strings"
	"testing"

	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// The card's gauge and the threshold of a summary use the same window, even if the model's is far larger.
func TestTheGaugeShowsHowNearTheNextSummaryIs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		model string
		own   int64 // window of the model, according to the CLI
		most  int   // [context] window
		held  int
		gauge string
		full  bool
	}{
		"a model of 1 M":               {"claude-opus-4-8[1m]", 1_000_000, 128_000, 103_000, "上下文已用 80%", true},
		"all of a model of 1 M":        {"claude-opus-4-8[1m]", 1_000_000, 1_000_000, 103_000, "上下文已用 10%", false},
		"a model that holds less full": {"claude-haiku-4-5", 200_000, 500_000, 162_000, "上下文已用 81%", true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *config.Config) {
				if name == "a model of 1 M" {
					realCLI(t)(c)
				}
				c.Claude.Model, c.Context.Window, c.Context.KeepRecent = tc.model, tc.most, 1
			})
			r.model.Script(modelsim.Rule{Match: isSummary, Steps: []modelsim.Step{modelsim.Text("小明在试")}},
				modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Usage(tc.held), modelsim.Text("好")}})
			card := r.answer(r.chat, r.sim.Say(r.chat, r.user, "记住：暗号是芝麻开门"))
			if got := card.Text(); !strings.Contains(got, tc.gauge) {
				t.Errorf("the card says %q, want %q", got, tc.gauge)
			}
			if got := r.chatNow().Session.Window; got != tc.own {
				t.Errorf("the CLI reports a window of %d", got)
			}
			r.ask("数到 2")
			if n := count(r.model.Requests(), isSummary); (n == 1) != tc.full {
				t.Errorf("%d summaries", n)
			}
		})
	}
}
