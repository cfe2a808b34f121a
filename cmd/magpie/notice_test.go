package main

import (
	"testing"
	"time"

	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// The program is killed around the end of a long turn: the asker is mentioned once, after the answer.
func TestACrashAroundANotice(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"end: storing", "end: stored", "delivery: begun", "delivery: noted"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			s := newService(t, feishusim.Config{}, func(c *config.Config) { c.Chat.NotifyAfter.Duration = time.Millisecond })
			s.model.Script(modelsim.Rule{Steps: []modelsim.Step{modelsim.Text("好了。")}})
			s.run("MAGPIE_CRASH_AT=" + step)
			s.connected()
			id := s.sim.Say(s.chat, s.user, "做点什么")
			if !s.died(patience) {
				t.Fatalf("the program did not come to this step: %s", s.logs)
			}
			s.run()
			s.connected()
			s.until("the end", func() bool {
				return s.count(`SELECT COUNT(*) FROM turns WHERE ended_at > 0`) == 1 &&
					s.count(`SELECT COUNT(*) FROM outbox`) == 0
			})
			list := replies(s.sim.View(), s.chat, id)
			if len(list) != 2 || len(list[0].Calls) != 0 || len(list[1].Calls) != 1 ||
				list[1].Calls[0] != s.user.OpenID {
				t.Errorf("%d answers: %s", len(list), s.transcript())
			}
			s.terminate()
			s.clean()
		})
	}
}
