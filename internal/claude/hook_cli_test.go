package claude_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
	"magpie/internal/modelsim"
)

// setHook gives the agents of the project a hook.
func (r *rig) setHook(event, command string) {
	r.Helper()
	settings, err := json.Marshal(map[string]any{"hooks": map[string]any{event: []any{map[string]any{
		"matcher": "*", "hooks": []any{map[string]string{"type": "command", "command": command}},
	}}}})
	must(r.T, err)
	write(r.T, filepath.Join(r.cfg.Project, ".claude", "settings.json"), string(settings))
}

// What the CLI says because a hook keeps a prompt from the model is no answer: not for the bridge that waits, nor for
// one that reads the transcript later. The hook's words have nothing of the prompt, nor of the hook's command.
func TestAHookThatRefusesThePrompt(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		for name, tc := range map[string]struct{ hook, words string }{
			"status":  {`echo 'after six' >&2; exit 2`, "after six"},
			"block":   {`echo '{"decision": "block", "reason": "[policy] after six"}'`, "[policy] after six"},
			"stop":    {`echo '{"continue": false, "stopReason": "after: six"}'`, "after: six"},
			"nothing": {`exit 2`, "No stderr output"},
		} {
			t.Run(name, func(t *testing.T) {
				r := newRig(t, withCLI(command))
				r.setHook("UserPromptSubmit", tc.hook)
				spec, id := fresh(), uuid.NewString()
				p := r.acquire("a", spec)
				var a answer
				for ev, err := range p.Run(t.Context(), id, "canary\n\nOriginal prompt: x") {
					must(t, err)
					a.take(ev)
				}
				if got := a.result; got.Failure != claude.FailHook || got.Text != tc.words || len(a.blocks) > 0 ||
					strings.Contains(strings.Join(got.Errors, " "), "canary") {
					t.Errorf("%+v, answer %q", got, a.blocks)
				}
				if n := len(r.model.Requests()); n != 0 {
					t.Errorf("the model got %d requests", n)
				}
				r.pool.Release(p)
				<-r.pool.Drop("a")
				did, err := r.cfg.Transcripts("").ReadOutcome(r.cfg.Project, spec.Session, id)
				if err != nil || did.Text != "" || did.Ended && did.Failure != claude.FailHook || did.Known != (name == "stop") {
					t.Errorf("from the transcript %+v, %v", did, err)
				}
			})
		}
	})
}

// A hook that ends the turn after a tool leaves what the agent has said so far.
func TestAHookThatStopsTheAgent(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		r := newRig(t, withCLI(command), func(c *claude.Config) { c.AllowedTools = []string{"Bash"} })
		r.setHook("PostToolUse", `echo '{"continue": false, "stopReason": "enough"}'`)
		r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("let me see"), bash("echo hi")}})
		spec := fresh()
		p := r.acquire("a", spec)
		id, a := r.ask(p, nil)
		if a.err != nil || a.result.Failure != claude.FailHookStop || a.text() != "let me see" {
			t.Errorf("%+v, answer %q, %v", a.result, a.blocks, a.err)
		}
		r.pool.Release(p)
		<-r.pool.Drop("a")
		did, err := r.cfg.Transcripts("").ReadOutcome(r.cfg.Project, spec.Session, id)
		if err != nil || did.Text != "let me see" || did.Failure != claude.FailHookStop || !did.Ended || !did.Acted {
			t.Errorf("from the transcript %+v, %v", did, err)
		}
	})
}
