package claude_test

import (
	"context"
	"strings"
	"testing"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
	"magpie/internal/modelsim"
)

// await receives a value, with a timeout.
func await[T any](t *testing.T, what string, from <-chan T) (v T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case v = <-from:
	case <-ctx.Done():
		t.Fatalf("waiting for %s: %v", what, ctx.Err())
	}
	return v
}

// From its second answer on the CLI suggests a next question, after the answer, by a separate request. The next
// question does not wait for it.
func TestASuggestion(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		r := newRig(t, withCLI(command), func(c *claude.Config) { c.Suggestions = true })
		hold, suggests := make(chan struct{}), func(q *modelsim.Request) bool {
			return strings.Contains(q.Messages[len(q.Messages)-1].Text, "SUGGESTION MODE")
		}
		r.model.Script(
			modelsim.Rule{Times: 1, Match: suggests, Steps: []modelsim.Step{modelsim.Text("run the tests")}},
			modelsim.Rule{Times: 1, Match: suggests, Steps: []modelsim.Step{modelsim.Hold(hold), modelsim.Text("too late")}})
		defer close(hold)
		spec := fresh()
		spec.Suggest = true
		came := make(chan claude.Suggestion, 9)
		ask := func(spec claude.Spec, question, want string) {
			t.Helper()
			spec.Dir, spec.Mode = r.cfg.Project, "default"
			p, err := r.pool.Acquire(t.Context(), "a", spec)
			must(t, err)
			p.OnSuggestion(func(s claude.Suggestion) { came <- s })
			r.pool.Release(p)
			if a := r.turn(t.Context(), "a", spec, question); a.err != nil || a.text() != want {
				t.Errorf("%s: %q %v", question, a.text(), a.err)
			}
		}
		ask(spec, "数到 2", "1 2")
		ask(resumed(spec), "数到 3", "1 2 3")
		s := await(t, "the suggestion", came)
		cost, err := s.Cost(t.Context())
		if s.Text != "run the tests" || err != nil || cost.CostUSD <= 0 || cost.Usage.Output == 0 {
			t.Errorf("suggested %q for %+v, %v", s.Text, cost, err)
		}
		ask(resumed(spec), "数到 4", "1 2 3 4")
		r.awaitRequests(suggests, 2)
		ask(resumed(spec), "数到 5", "1 2 3 4 5") // while the suggestion is still pending
		if len(came) > 0 {
			t.Errorf("%q was suggested after another answer", (<-came).Text)
		}
	})
}

// awaitRequests waits until the model got that many requests that match.
func (r *rig) awaitRequests(match func(*modelsim.Request) bool, want int) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	must(r.T, r.model.Await(ctx, func(list []modelsim.Request) bool {
		n := 0
		for i := range list {
			if match(&list[i]) {
				n++
			}
		}
		return n >= want
	}))
}
