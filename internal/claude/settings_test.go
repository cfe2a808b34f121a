package claude_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
	"magpie/internal/modelsim"
)

// What the operator denies stays denied, whatever else is allowed. Instructions for a terminal session do not apply.
func TestSettingsRule(t *testing.T) {
	r := newRig(t, func(c *claude.Config) {
		c.State, c.AllowedTools = t.TempDir(), []string{"Bash(touch *)"}
		c.Settings = `{"permissions": {"deny": ["Bash(touch denied*)"]}, "env": {"SHOWN": "canary-7"}}`
		must(t, os.Mkdir(filepath.Join(c.Project, ".claude"), 0o700))
		for file, text := range map[string]string{
			"CLAUDE.md": "Speak of penguins.", "CLAUDE.local.md": "Speak of ostriches.",
			".claude/settings.local.json": `{"permissions": {"allow": ["Bash(mkdir *)"], "additionalDirectories": ["/"]}}`,
		} {
			must(t, os.WriteFile(filepath.Join(c.Project, file), []byte(text), 0o600))
		}
		must(t, c.Validate())
		must(t, c.Prepare())
	})
	r.calls(bash("touch allowed"), bash("touch denied"), bash("mkdir local"))
	spec := fresh()
	if a := r.turn(t.Context(), "a", spec, "go"); a.err != nil || a.result.Failure != "" {
		t.Fatalf("%+v %v", a.result, a.err)
	}
	for name, want := range map[string]bool{"allowed": true, "denied": false, "local": false} {
		if _, err := os.Stat(filepath.Join(r.cfg.Project, name)); (err == nil) != want {
			t.Errorf("%s: ran %v, want %v", name, err == nil, want)
		}
	}
	if text := r.model.Requests()[0].AllText(); !strings.Contains(text, "penguins") ||
		strings.Contains(text, "ostriches") {
		t.Error("the model did not get the project's instructions, or not only these")
	}
	p := r.acquire("a", resumed(spec))
	defer r.pool.Release(p)
	if args := arguments(t, p); strings.Contains(args, "canary-7") {
		t.Errorf("any user of the machine may read %q", args)
	}
	for _, name := range []string{"settings.json", "login.json"} {
		info, err := os.Stat(filepath.Join(r.cfg.State, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// A task outside the chats gets the login of the settings and nothing else of them.
func TestATaskUsesTheLoginOfTheSettings(t *testing.T) {
	r := newRig(t, func(c *claude.Config) {
		c.State = t.TempDir()
		c.Environ = without(c.Environ, "ANTHROPIC_API_KEY")
		c.Settings = `{"apiKeyHelper": "echo sk-from-helper", "hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "echo HOOKED"}]}]}}`
		must(t, c.Prepare())
	})
	if got, err := r.pool.RunErrand(t.Context(), sumUp); err != nil || got.Text == "" { // fails without a login
		t.Fatalf("%+v, %v", got, err)
	}
	if req := r.model.Requests()[0]; strings.Contains(req.AllText(), "HOOKED") {
		t.Error("a hook ran")
	}
}

// The limit is that of one turn, so each turn has a process of its own.
func TestATurnHasABudget(t *testing.T) { claudetest.Versions(t, aTurnHasABudget) }

func aTurnHasABudget(t *testing.T, command string) {
	r := newRig(t, withCLI(command), func(c *claude.Config) {
		c.Model, c.AllowedTools = "claude-opus-4-8", []string{"Bash"}
	})
	spec := fresh()
	spec.Budget = 0.15
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Usage(80_000), modelsim.Text("fine")}})
	first := r.turn(t.Context(), "a", spec, "go")
	if first.err != nil || first.result.Failure != "" || first.result.CostUSD < 0.08 || first.result.CostUSD > 0.15 {
		t.Fatalf("%v, costs %f: %v", first.result.Failure, first.result.CostUSD, first.err)
	}
	spec.Resume = true
	again := modelsim.Tool("Bash", map[string]any{"command": "true", "description": "again"})
	r.model.Script(modelsim.Rule{Steps: []modelsim.Step{modelsim.Usage(80_000), again}})
	before := len(r.model.Requests())
	a := r.turn(t.Context(), "a", spec, "go on and on")
	// Two requests cost more than the limit, one does not, unless the first turn counted as well.
	if a.err != nil || a.result.Failure != claude.FailLimit || a.result.CostUSD < 0.15 ||
		a.result.CostUSD > 4*first.result.CostUSD {
		t.Errorf("%+v %v", a.result, a.err)
	}
	if n := len(r.model.Requests()) - before; n < 2 || n > 4 {
		t.Errorf("the model was asked %d times", n)
	}
}
