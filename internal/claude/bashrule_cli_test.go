package claude_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
	"magpie/internal/modelsim"
)

// The CLI checks where some commands write and where output is redirected to, but not what options do. For these
// options a rule is refused.
func TestWhatARuleWithAWildcardLetsTheCLIRun(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		r := newRig(t, func(c *claude.Config) {
			c.Command = command
			c.AllowedTools = []string{
				"Bash(git log *)", "Bash(dd *)", "Bash(cp *)", "Bash(echo *)", "Bash(touch *)", "Bash(git status *)",
			}
		})
		out, err := exec.Command("git", "init", "-q", r.cfg.Project).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		must(t, os.WriteFile(filepath.Join(r.cfg.Project, "a"), nil, 0o600))
		away := t.TempDir()
		guarded := []string{
			"cp a " + away + "/cp", "echo a > " + away + "/echo", "echo a > b", "touch " + away + "/touch",
			"git status > " + away + "/status",
		}
		steps := []modelsim.Step{bash("git log --output=" + away + "/log"), bash("dd if=a of=" + away + "/dd")}
		for _, c := range guarded {
			steps = append(steps, bash(c))
		}
		r.calls(steps...)
		a := r.turn(t.Context(), "a", fresh(), "go")
		asked := a.asked()
		if a.err != nil || len(asked) != len(guarded) {
			t.Fatalf("asked %q, %v", asked, a.err)
		}
		for i, c := range guarded {
			if want, err := json.Marshal(c); err != nil ||
				!strings.Contains(strings.ReplaceAll(asked[i], `\u003e`, ">"),
					strings.ReplaceAll(string(want), `\u003e`, ">")) {
				t.Errorf("asked %q, want %s", asked[i], c)
			}
		}
		for _, name := range []string{"log", "dd"} {
			if _, err := os.Stat(filepath.Join(away, name)); err != nil {
				t.Errorf("%s wrote nothing: it no longer needs to be refused", name)
			}
		}
	})
}
