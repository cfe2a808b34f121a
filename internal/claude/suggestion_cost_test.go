package claude_test

import (
	"fmt"
	"strings"
	"testing"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
	"magpie/internal/claude/workspace"
	"magpie/internal/modelsim"
)

// A suggestion costs more than a twentieth of the answer above it, in a short conversation and in a long one: so nobody
// pays for suggestions without having asked for them. The simulated model finds four fifths of each request in its cache;
// the same requests are also counted with a cache that holds all that was sent before.
func TestSuggestionsAreNotFree(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		r := newRig(t, withCLI(command), func(c *claude.Config) { c.Suggestions = true })
		answer := strings.Repeat("这是回答里的一句话，说明一件事情的来由。", 15) // some 300 characters
		suggests := func(q *modelsim.Request) bool {
			return strings.Contains(q.Messages[len(q.Messages)-1].Text, "SUGGESTION MODE")
		}
		r.model.Script(
			modelsim.Rule{Match: suggests, Steps: []modelsim.Step{modelsim.Text("run the tests")}},
			modelsim.Rule{Steps: []modelsim.Step{modelsim.Text(answer)}})
		spec := fresh()
		spec.Suggest, spec.Dir, spec.Mode = true, r.cfg.Project, "default"
		p, err := r.pool.Acquire(t.Context(), "a", spec)
		must(t, err)
		r.pool.Release(p)
		before := 0 // tokens of the last answer's request
		for n := 1; n <= 40; n++ {
			came := make(chan claude.Suggestion, 1)
			p.OnSuggestion(func(s claude.Suggestion) { came <- s })
			a := r.turn(t.Context(), "a", spec, fmt.Sprintf("第 %d 个问题：请说明这件事情的来由，以及下一步该做什么。", n))
			must(t, a.err)
			spec = resumed(spec)
			asked := tokensOf(a.result.Usage)
			if n == 1 {
				before = asked
				continue // from the second answer on
			}
			cost, err := await(t, "the suggestion", came).Cost(t.Context())
			must(t, err)
			if n == 2 || n == 40 {
				share := cost.CostUSD / a.result.CostUSD
				// In prices of fresh input: read from the cache a tenth, written to it 1.25, output 5.
				perfect := (0.1*float64(asked) + float64(tokensOf(cost.Usage)-asked) + 5*float64(cost.Usage.Output)) /
					(0.1*float64(before) + 1.25*float64(asked-before) + 5*float64(a.result.Usage.Output))
				t.Logf("exchange %d: answer $%.5f %+v, suggestion $%.5f %+v: %.0f %%; with a perfect cache %.0f %%", n,
					a.result.CostUSD, a.result.Usage, cost.CostUSD, cost.Usage, 100*share, 100*perfect)
				if share <= 0.05 || perfect <= 0.05 {
					t.Errorf("a suggestion costs %.1f %% or %.1f %% of the answer: it may be on by default", 100*share, 100*perfect)
				}
			}
			before = asked
		}
		if workspace.Defaults().Suggestions {
			t.Error("suggestions are on by default")
		}
	})
}

// tokensOf is the size of a request.
func tokensOf(u claude.Usage) int { return int(u.Input + u.CacheRead + u.CacheNew) }
