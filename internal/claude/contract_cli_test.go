package claude_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
	"magpie/internal/modelsim"
)

// Since 2.1.330 a session keeps the system prompt of its first request, whatever a later process is started with. What
// may change between two turns must reach the model anyway. The session has the name that it was started with.
func TestAResumedSessionLearnsOfChanges(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		r := newRig(t, withCLI(command), func(c *claude.Config) { c.KeepAlive.Duration = 0 })
		rules := filepath.Join(r.cfg.Project, "CLAUDE.md")
		write(t, rules, "rule-before")
		spec := fresh()
		spec.Model, spec.Name = "opus", "magpie-0123456789abcdef01234567"
		if a := r.turn(t.Context(), "a", spec, "go"); a.err != nil {
			t.Fatal(a.err)
		}
		write(t, rules, "rule-after")
		spec = resumed(spec)
		spec.Model, spec.Files = "sonnet", t.TempDir()
		before := len(r.model.Requests())
		if a := r.turn(t.Context(), "a", spec, "go on"); a.err != nil {
			t.Fatal(a.err)
		}
		q := r.model.Requests()[before]
		if model := gjson.GetBytes(q.Body, "model").String(); !strings.Contains(model, "sonnet") {
			t.Errorf("asked %s", model)
		}
		for _, want := range []string{"rule-after", spec.Files} {
			if !strings.Contains(string(q.Body), want) {
				t.Errorf("the model is not told of %s", want)
			}
		}
		path, err := r.cfg.Transcripts("").Path(r.cfg.Project, spec.Session)
		must(t, err)
		data, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(data), `"customTitle":"`+spec.Name+`"`) {
			t.Errorf("the transcript has no such title: %v", err)
		}
	})
}

// Because of that nothing of a chat is in the system prompt: it would stay that of the first turn.
func TestNothingOfAChatIsInTheSystemPrompt(t *testing.T) {
	given := filepath.Join(t.TempDir(), "arguments")
	r := newRig(t, script(t, `printf '%s\n' "$@" > '`+given+`'`))
	spec := fresh()
	spec.Name, spec.Files, spec.Model = "magpie-1", t.TempDir(), "opus"
	r.turn(t.Context(), "a", spec, "go")
	args, err := os.ReadFile(given)
	must(t, err)
	if !strings.Contains(string(args), "--session-id=") || strings.Contains(string(args), "system-prompt") {
		t.Errorf("started with %q", args)
	}
}

// The variable that keeps the CLI from reading mentioned files withholds nothing else from the model.
func TestTheModelKnowsItsWorkingFolder(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		r := newRig(t, withCLI(command))
		spec := fresh()
		spec.Mode, spec.Files = claude.PlanMode, t.TempDir()
		if a := r.turn(t.Context(), "a", spec, "go"); a.err != nil {
			t.Fatal(a.err)
		}
		body := string(r.model.Requests()[0].Body)
		want := []string{"working directory: " + r.cfg.Project, spec.Files, "WebFetch"}
		if command != claudetest.Oldest(t) { // without files in its prompt this version does not get it
			want = append(want, "Plan mode is active")
		}
		for _, want := range want {
			if !strings.Contains(body, want) {
				t.Errorf("the model is not told %q", want)
			}
		}
	})
}

// Whether a script knows the newer variable depends on the CLI that it starts, so the older variable is used.
func TestMentionsWithAScriptAsTheCLI(t *testing.T) {
	given := filepath.Join(t.TempDir(), "environment")
	r := newRig(t, script(t, "# CLAUDE_CODE_DISABLE_FILE_MENTIONS\nenv > '"+given+"'"))
	r.turn(t.Context(), "a", fresh(), "go")
	env, err := os.ReadFile(given)
	must(t, err)
	if text := string(env); !strings.Contains(text, "CLAUDE_CODE_DISABLE_ATTACHMENTS=1\n") ||
		strings.Contains(text, "FILE_MENTIONS") {
		t.Errorf("environment %s", text)
	}
}

// Since 2.1.330 subagents may run in the background. Where that is off, they answer within the turn that called them.
func TestASubagentAnswersWithinTheTurn(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		r := newRig(t, withCLI(command), func(c *claude.Config) { c.BackgroundLimit.Duration = 0 })
		toSubagent := func(q *modelsim.Request) bool { return strings.Contains(q.LastUser(), "canary-task") }
		task := modelsim.Tool("Agent", map[string]any{
			"description": "look", "prompt": "canary-task", "subagent_type": "general-purpose",
			"run_in_background": true,
		})
		r.model.Script(
			modelsim.Rule{Match: toSubagent, Steps: []modelsim.Step{modelsim.Text("canary-report")}},
			modelsim.Rule{Times: 1, Steps: []modelsim.Step{task}},
			modelsim.Rule{Steps: []modelsim.Step{modelsim.Text("done")}},
		)
		a := r.turn(t.Context(), "a", fresh(), "go")
		if a.err != nil || a.text() != "done" { // the subagent's own text is not part of the answer
			t.Fatalf("%q, %v", a.text(), a.err)
		}
		if !slices.ContainsFunc(a.events, func(ev claude.Event) bool {
			e, ok := ev.(claude.ToolResult)
			return ok && !e.Failed && strings.Contains(e.Text, "canary-report")
		}) {
			t.Errorf("events %+v", a.events)
		}
	})
}

// Nothing that the agent starts outlives its turn, as nobody would read its later output. Nor can it reach other
// sessions; TestAttackOtherSessions shows what the newest version would do.
func TestNoToolOutlivesTheTurn(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		r := newRig(t, withCLI(command))
		calls := map[string]any{
			"CronCreate": map[string]any{"cron": "* * * * *", "prompt": "wake", "recurring": true},
			"Monitor": map[string]any{
				"command": "echo wake", "description": "x", "timeout_ms": 60_000, "persistent": false,
			},
			"ScheduleWakeup": map[string]any{"delaySeconds": 60, "reason": "x", "prompt": "wake"},
			"ListAgents":     map[string]any{},
			"SendMessage":    map[string]any{"to": "uds:/tmp/x", "summary": "x", "message": "x"},
			"Workflow": map[string]any{
				"script": "export const meta = {name: 'x', description: 'x', phases: []}\nreturn await agent('wake')",
			},
		}
		var steps []modelsim.Step
		for name, input := range calls {
			steps = append(steps, modelsim.Tool(name, input))
		}
		r.calls(append(steps, modelsim.Text("done"))...)
		a := r.turn(t.Context(), "a", fresh(), "go")
		if a.err != nil || a.text() != "done" || len(a.asked()) > 0 {
			t.Fatalf("%q, asked %q: %v", a.text(), a.asked(), a.err)
		}
		list := r.model.Requests()
		for name := range calls {
			if list[0].HasTool(name) {
				t.Errorf("the model is offered %s", name)
			}
		}
		if text := list[len(list)-1].AllText(); strings.Count(text, "No such tool available") != len(calls) {
			t.Errorf("the agent has one of these tools: %s", text[max(0, len(text)-1500):])
		}
	})
}

// How a turn fails when the model's API refuses it. The CLI retries after some of these errors.
func TestErrorsOfTheModelsAPI(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		r := newRig(t, withCLI(command))
		spec := fresh()
		for _, tc := range []struct {
			step modelsim.Step
			want claude.Failure
		}{
			{modelsim.Fail(403, "permission_error", "not allowed"), claude.FailDenied},
			{modelsim.Fail(404, "not_found_error", "model: nonesuch"), claude.FailModel},
			{modelsim.Fail(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
				claude.FailBilling},
			{modelsim.Fail(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
				claude.FailTooLong},
			{modelsim.Fail(413, "request_too_large", "Request exceeds the maximum size"), claude.FailTooLong},
			{modelsim.Fail(400, "invalid_request_error", "messages: odd"), claude.FailRequest},
			{modelsim.Stop("refusal"), claude.FailRefused},
		} {
			r.model.Reset()
			r.model.Script(modelsim.Rule{Steps: []modelsim.Step{tc.step}})
			if a := r.turn(t.Context(), "a", spec, "go"); a.err != nil || a.result.Failure != tc.want {
				t.Errorf("%q, want %q: %+v, %v", a.result.Failure, tc.want, a.result, a.err)
			}
			spec.Resume = true
		}
	})
}
