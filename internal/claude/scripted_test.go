package claude_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
)

// The scripted agent supports all parts of a turn: start, answer, resume, reading the outcome, end.
func TestTheScriptedAgentSpeaksLikeTheCLI(t *testing.T) {
	t.Parallel()
	cfg := claudetest.ScriptedConfig(t)
	cfg.KeepAlive.Duration = 0
	pool := claude.NewPool(cfg)
	t.Cleanup(pool.Close)
	r := &rig{T: t, cfg: cfg, pool: pool}
	spec := fresh()
	for turn, want := range []string{"echo: one", "echo: 二", "echo: three"} {
		p := r.acquire("a", spec)
		id := uuid.NewString()
		var a answer
		for ev, err := range p.Run(t.Context(), id, "some context\n"+strings.TrimPrefix(want, "echo: ")) {
			if err != nil {
				t.Fatal(err)
			}
			a.take(ev)
		}
		r.pool.Release(p)
		spec = resumed(spec)
		if a.text() != want || a.result.Failure != "" || a.result.Session != spec.Session || a.result.Model == "" ||
			a.result.CostUSD <= 0 {
			t.Errorf("turn %d: %q, %+v", turn, a.text(), a.result)
		}
		got, err := cfg.Transcripts("").ReadOutcome(cfg.Project, spec.Session, id)
		if err != nil || !got.Ended || got.Text != want || got.Usage != a.result.Usage {
			t.Errorf("turn %d was read as %+v %v", turn, got, err)
		}
	}
}

func TestTheScriptedAgentWritesOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	cfg := claudetest.ScriptedConfig(t)
	cfg.Env = nil
	pool := claude.NewPool(cfg)
	r := &rig{T: t, cfg: cfg, pool: pool}
	spec := fresh()
	began := time.Now()
	p := r.acquire("a", spec)
	_, a := r.ask(p, nil)
	t.Logf("a turn with its start took %v", time.Since(began))
	r.pool.Release(p)
	pool.Close()
	if a.err != nil || a.text() != "echo: go on" {
		t.Fatalf("%q %v", a.text(), a.err)
	}
	path, err := cfg.Transcripts("").Path(cfg.Project, spec.Session)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("it wrote a transcript")
	}
}
