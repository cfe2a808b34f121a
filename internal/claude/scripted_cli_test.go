package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
	"magpie/internal/modelsim"
)

// The scripted agent, which most tests of the bridge use, behaves like the CLI: the same events in the same order, the
// same requests to the model, the same transcript afterwards.
func TestTheScriptedAgentKeepsTheContract(t *testing.T) {
	t.Parallel()
	var days [2][]string
	t.Run("days", func(t *testing.T) {
		for i, command := range []string{claudetest.Command(t), claudetest.Scripted(t)} {
			t.Run([]string{"cli", "scripted"}[i], func(t *testing.T) { days[i] = runScenario(t, command) })
		}
	})
	cli, scripted := days[0], days[1]
	for i := range max(len(cli), len(scripted)) {
		if i >= len(cli) || i >= len(scripted) || cli[i] != scripted[i] {
			t.Fatalf("after\n%s\nthe CLI continues with\n%s\nand the scripted agent with\n%s",
				strings.Join(cli[max(0, min(i, len(cli))-5):min(i, len(cli))], "\n"),
				strings.Join(cli[min(i, len(cli)):], "\n"), strings.Join(scripted[min(i, len(scripted)):], "\n"))
		}
	}
	if len(cli) < 60 {
		t.Errorf("only %d log entries", len(cli))
	}
}

// scenario is a series of turns of one chat, with a log of everything observable.
type scenario struct {
	*rig
	spec  claude.Spec
	lines []string
}

// runScenario runs it with an agent and returns the log.
func runScenario(t *testing.T, command string) []string {
	d := &scenario{rig: newRig(t, withCLI(command)), spec: fresh()}
	write(t, filepath.Join(d.cfg.Project, "read.txt"), "one\ntwo\n")
	d.spec.Mode = "default"
	allow := func(q claude.ToolAsk) claude.Decision { return claude.Decision{Allow: true, Input: q.Input} }

	d.turn("a question", "我叫小明")
	d.turn("another, with a slash", "/nothing of the CLI's own")
	d.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{
		modelsim.Thinking("hm"), modelsim.Text("First "), modelsim.Text("this."),
		modelsim.Tool("Read", map[string]string{"file_path": filepath.Join(d.cfg.Project, "read.txt")}),
	}})
	d.turn("what is not asked for", "go")
	d.calls(bash("echo read only && ls"))
	d.turn("a command that only reads", "go")
	d.decide = allow
	d.calls(bash("echo changed >> out.txt"))
	d.turn("a command that is allowed", "go")
	d.calls(bash("echo out; exit 3 >> out.txt"))
	d.turn("a command that fails", "go")
	d.calls(modelsim.Tool("Write", map[string]string{
		"file_path": filepath.Join(d.cfg.Project, "w.txt"), "content": "written\n",
	}))
	d.turn("a file that is written", "go")
	d.decide = func(claude.ToolAsk) claude.Decision { return claude.Decision{Why: "not today"} }
	d.calls(bash("touch refused.txt"))
	d.turn("a command that is refused", "go")
	d.decide = func(q claude.ToolAsk) claude.Decision {
		in := map[string]any{}
		must(t, json.Unmarshal(q.Input, &in))
		in["answers"] = map[string]string{"Which colour?": "Blue"}
		return claude.Decision{Allow: true, Input: encode(t, in)}
	}
	d.calls(modelsim.Tool(claude.QuestionTool, map[string]any{"questions": []any{map[string]any{
		"question": "Which colour?", "header": "Colour", "multiSelect": false,
		"options": []any{
			map[string]string{"label": "Blue", "description": "x"}, map[string]string{
				"label": "Red", "description": "y",
			},
		},
	}}}))
	d.turn("people are asked", "go")
	d.decide = allow
	d.model.Script(modelsim.Rule{
		Times: 1, Steps: []modelsim.Step{modelsim.Text("half an "), modelsim.Text("answer"), modelsim.Hang()},
	})
	d.stopped("an answer that is stopped", func(ev claude.Event) bool {
		e, ok := ev.(claude.Text)
		return ok && e.Text == "answer"
	})
	d.calls(bash("echo begun >> begun.txt; sleep 300"))
	d.stopped("a tool that is stopped", func(ev claude.Event) bool {
		if e, ok := ev.(claude.ToolAllowed); !ok || e.Name != "Bash" {
			return false
		}
		must(t, poll(t.Context(), "the command", func() bool { return d.read("begun.txt") != "" }))
		return true
	})
	d.calls(bash("touch never.txt"))
	d.decide = nil
	d.stopped("a question that is stopped", func(ev claude.Event) bool { _, ok := ev.(claude.ToolAsk); return ok })
	d.model.Script(modelsim.Rule{ // the CLI retries at once
		Match: func(q *modelsim.Request) bool { return q.LastUser() == "fail" },
		Steps: []modelsim.Step{modelsim.Fail(400, "invalid_request_error", "bad")},
	})
	d.turn("a model that fails", "fail")

	<-d.pool.Drop("a")
	d.spec.Resume = true
	d.turn("a new process", "我叫什么名字？")
	d.spec.Mode = claude.PlanMode
	d.decide = allow
	d.calls(modelsim.Tool(claude.PlanTool, map[string]string{"plan": "1. x"}), bash("touch planned.txt"))
	d.turn("a plan that is approved", "go")
	d.calls(bash("touch more.txt"))
	d.turn("in plan mode again", "go")
	<-d.pool.Drop("a")
	d.spec = resumed(fresh())
	d.spec.Mode = "default"
	d.turn("a session that is not there", "go")
	files, err := os.ReadDir(d.cfg.Project)
	must(t, err)
	for _, f := range files {
		d.note("file %s", f.Name())
	}
	return d.lines
}

func (d *scenario) note(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	line = strings.ReplaceAll(line, d.spec.Session, "SESSION")
	d.lines = append(d.lines, strings.ReplaceAll(line, d.cfg.Project, "PROJECT"))
}

func (d *scenario) turn(what, prompt string) {
	d.stoppedBy(what, prompt, func(claude.Event) bool { return false })
}

func (d *scenario) stopped(what string, when func(claude.Event) bool) { d.stoppedBy(what, "go", when) }

// stoppedBy is a turn that is stopped at a certain event.
func (d *scenario) stoppedBy(what, prompt string, when func(claude.Event) bool) {
	d.Helper()
	d.note("== %s", what)
	before := len(d.model.Requests())
	ctx, stop := context.WithCancelCause(d.Context())
	defer stop(nil)
	spec := d.spec
	spec.Dir = d.cfg.Project
	p, err := d.pool.Acquire(ctx, "a", spec)
	if err != nil {
		var lost *claude.LostError
		d.note("no process: lost %v", errors.As(err, &lost))
		return
	}
	d.spec.Resume = true
	id := uuid.NewString()
	for ev, err := range p.Run(ctx, id, prompt) {
		if err != nil {
			d.note("error %v", err)
			break
		}
		d.event(ev)
		if when(ev) {
			stop(errors.New("stopped"))
		} else if q, ok := ev.(claude.ToolAsk); ok {
			d.answer(p, q)
		}
	}
	d.pool.Release(p)
	for _, q := range slices.CompactFunc(d.model.Requests()[before:], again) {
		d.note("the model is told %q after %q", q.LastUser(), roles(q))
	}
	o, err := d.cfg.Transcripts("a").ReadOutcome(d.cfg.Project, spec.Session, id)
	d.note("transcript: known %v, acted %v, ended %v, %q, failed %v, %v", o.Known, o.Acted, o.Ended, o.Text,
		o.Failure != "", err)
}

// again reports whether a request repeats the previous one.
func again(a, b modelsim.Request) bool { return a.LastUser() == b.LastUser() && roles(a) == roles(b) }

// roles counts the messages of each role in a request.
func roles(q modelsim.Request) string {
	n := map[string]int{}
	for _, m := range q.Messages {
		n[m.Role]++
	}
	return fmt.Sprint(n["assistant"], " of the assistant")
}

// event logs an event, without text that the CLI words by itself.
func (d *scenario) event(ev claude.Event) {
	switch e := ev.(type) {
	case claude.Started:
		d.note("started %s in mode %s", e.Session, e.Mode)
	case claude.Text:
		if line := fmt.Sprintf("text %d grows", e.Block); e.Whole {
			d.note("text %d %q", e.Block, e.Text)
		} else if d.lines[len(d.lines)-1] != line {
			d.note("%s", line)
		}
	case claude.Thinking:
		d.note("thinking %q", e.Text)
	case claude.ToolCall:
		d.note("calls %s", e.Name)
	case claude.ToolUse:
		d.note("uses %s", e.Name)
	case claude.ToolResult:
		d.note("result failed=%v", e.Failed)
	case claude.ToolAsk:
		var input any
		must(d.T, json.Unmarshal(e.Input, &input))
		d.note("asks in mode %s for %s %v", e.Mode, e.Name, input)
	case claude.ToolAskEnd:
		d.note("asks no more")
	case claude.ToolAllowed:
		d.note("allowed %s", e.Name)
	case claude.ToolDenied:
		d.note("denied %s", e.Name)
	case claude.Result:
		if e.Failure != "" {
			e.Text = "" // the wording may differ
		}
		d.note("ended %q, failed %v, held %v, cost %v", e.Text, e.Failure, e.Held > 0, e.CostUSD > 0)
	default:
		d.note("%T", ev)
	}
}
