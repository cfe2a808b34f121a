package claude_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
)

// command makes the CLI run a slash command in a session.
func (r *rig) command(owner string, spec claude.Spec, line string) (a answer) {
	r.Helper()
	p := r.acquire(owner, spec)
	defer r.pool.Release(p)
	for ev, err := range p.Command(r.Context(), uuid.NewString(), line) {
		if err != nil {
			r.Fatalf("%s: %v", line, err)
		}
		a.take(ev)
	}
	return a
}

func TestTheCLIsOwnCommands(t *testing.T) { claudetest.Versions(t, theCLIsOwnCommands) }

func theCLIsOwnCommands(t *testing.T, command string) {
	r := newRig(t, withCLI(command), func(c *claude.Config) { c.Commands = []string{"greet"} })
	for _, name := range []string{"greet", "secret"} {
		path := filepath.Join(r.cfg.Project, ".claude", "commands", name+".md")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("Say hello to $ARGUMENTS"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	spec := fresh()
	r.turn(t.Context(), "a", spec, "我叫小明")
	calls := len(r.model.Requests())
	if a := r.command("a", resumed(spec), "/context"); a.result.Failure != "" ||
		!strings.Contains(a.result.Text, "Context") {
		t.Errorf("/context: %+v", a.result)
	}
	if n := len(r.model.Requests()); n != calls {
		t.Errorf("/context asked the model %d times", n-calls)
	}
	for line, want := range map[string]string{
		"/greet Bob":         "Say hello to Bob", // allowed by the operator
		"/secret Bob":        "/secret Bob",      // not allowed: plain text
		"/config theme=dark": "/config theme=dark", "/nosuch": "/nosuch", "/contextual": "/contextual",
		"/clear": "/clear",
	} {
		r.command("a", resumed(spec), line)
		reqs := r.model.Requests()
		if got := strings.TrimSpace(reqs[len(reqs)-1].LastUser()); got != want {
			t.Errorf("%s: the model was asked %q", line, got)
		}
	}
	if a := r.turn(t.Context(), "a", resumed(spec), "我叫什么名字？"); a.text() != "你叫小明。" {
		t.Errorf("afterwards: %q %v", a.text(), a.err)
	}
}
