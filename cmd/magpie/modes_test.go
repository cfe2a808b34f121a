package main

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"magpie/contextmgr"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// What the turns of a conversation make the model read, in each mode, with a process that is gone before every fifth
// turn, as when people come back after a pause. There are 50 turns, answered by the real CLI, with [full]. While a
// process stays, three modes are the same; in database mode every turn has a process of its own. The figures are in
// docs/figures.md; -v shows them.
//
// The double of the model does not count tokens as the real one does, so they are estimated here, of what the requests
// carry: of the conversation, and of the whole with the CLI's own instructions and tools.
func TestTokensOfTheModes(t *testing.T) {
	t.Parallel()
	const resumed = 5
	turns, slack := 15, 500 // tokens, for the headings between messages
	if *full {
		turns, slack = 50, 0 // a longer conversation is truncated
	}
	type figures struct{ talk, last, whole int }
	var mu sync.Mutex
	got := map[string]figures{}
	t.Run("measure", func(t *testing.T) {
		for _, tc := range []struct {
			mode  contextmgr.Mode
			every int // a new process before every n-th turn; 0 = never
		}{
			{contextmgr.Database, 1}, {contextmgr.Hybrid, resumed}, {contextmgr.Resume, resumed},
			{contextmgr.Economy, resumed}, {contextmgr.Hybrid, 0},
		} {
			name := fmt.Sprintf("%s/%d", tc.mode, tc.every)
			t.Run(name, func(t *testing.T) {
				r := newRig(t, func(c *config.Config) {
					if *full {
						realCLI(t)(c)
					}
					c.Context.Mode, c.Claude.KeepAlive.Duration = tc.mode, time.Hour
					c.Context.CompactThreshold = 0 // a summary would make the modes hard to compare
				})
				converse(r, turns, tc.every)
				var f figures
				for _, req := range r.model.Requests() {
					f.last = 0
					for _, m := range req.Messages {
						f.last += contextmgr.EstimateTokens(m.Text)
					}
					f.talk += f.last
					f.whole += contextmgr.EstimateTokens(string(req.Body))
				}
				t.Logf("%s: %d tokens of the conversation, %d of them in the last turn, %d with the CLI's own",
					name, f.talk, f.last, f.whole)
				mu.Lock()
				defer mu.Unlock()
				got[name] = f
			})
		}
	})
	stays, hybrid, resume := got["hybrid/0"], got["hybrid/5"], got["resume/5"]
	economy, database := got["economy/5"], got["database/1"]
	switch {
	case t.Failed():
	case !near(economy.talk, resume.talk) || !near(resume.talk, stays.talk):
		t.Errorf("economy %d, resume %d, one process %d: a verified session needs no prefix",
			economy.talk, resume.talk, stays.talk)
	case hybrid.talk < 2*economy.talk:
		t.Errorf("hybrid %d, economy %d: the prefix is missing", hybrid.talk, economy.talk)
	case database.last > economy.last+slack:
		t.Errorf("database %d in the last turn, economy %d: more than the conversation", database.last, economy.last)
	}
}

// near reports whether two figures only differ by the names of the tests' folders, which the CLI puts into its prompt.
func near(a, b int) bool { return max(a, b)-min(a, b) <= max(a, b)/1000 }

// converse runs this many turns, with questions of 46 characters and answers of 406. It does not wait for the cards.
func converse(r *rig, turns, every int) {
	r.Helper()
	for i := range turns {
		r.until("the end of the turn", func() bool {
			return strings.Count(r.logs.String(), `"message":"turn ended"`) == i
		})
		if every > 0 && i%every == 0 {
			r.dropProcess()
		}
		answer := fmt.Sprintf("第%02d答。", i) + strings.Repeat("鹊桥相会金风玉露一相逢，便胜却人间无数。", 20)
		r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text(answer)}})
		r.sim.Say(r.chat, r.user, fmt.Sprintf("第%02d问：", i)+strings.Repeat("今天我们接着昨天的话题往下说", 3))
		r.requested(i + 1)
	}
	r.until("the last answer", func() bool {
		return strings.Contains(r.transcript(), fmt.Sprintf("第%02d答", turns-1))
	})
	if n := len(r.model.Requests()); n != turns {
		r.Errorf("%d requests for %d turns", n, turns)
	}
}

// Estimates of tokens are corrected by what the model reports in the turns of a running process.
func TestEstimatesFollowTheModelsReports(t *testing.T) {
	r := newRig(t)
	for range 4 {
		r.ask(strings.Repeat("构建通过了。", 200))
	}
	var tokens []int
	for line := range strings.Lines(r.logs.String()) {
		if gjson.Get(line, "message").String() == "混合上下文统计" {
			tokens = append(tokens, int(gjson.Get(line, "context.tokens").Int()))
		}
	}
	// The simulated model counts fewer tokens for Chinese than a real one.
	if len(tokens) != 4 || tokens[3] >= tokens[0] || tokens[3] < tokens[0]*7/10 {
		t.Errorf("estimated tokens of the same prompt: %v", tokens)
	}
}
