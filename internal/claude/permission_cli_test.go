package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
	"magpie/internal/modelsim"
)

// calls makes the model use these tools one after another.
func (r *rig) calls(steps ...modelsim.Step) {
	rules := make([]modelsim.Rule, 0, len(steps))
	for _, s := range steps {
		rules = append(rules, modelsim.Rule{Times: 1, Steps: []modelsim.Step{s}})
	}
	r.model.Script(rules...)
}

func bash(command string) modelsim.Step {
	return modelsim.Tool("Bash", map[string]string{"command": command, "description": "x"})
}

// asked lists the questions of a turn, as "mode tool input".
func (a answer) asked() (list []string) {
	for _, ev := range a.events {
		if q, ok := ev.(claude.ToolAsk); ok {
			list = append(list, q.Mode+" "+q.Name+" "+string(q.Input))
		}
	}
	return list
}

func (r *rig) read(name string) string {
	r.Helper()
	data, err := os.ReadFile(filepath.Join(r.cfg.Project, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.Fatal(err)
	}
	return string(data)
}

// An allowed tool runs once, with exactly the input that people saw, however odd it is.
func TestAnAllowedToolRunsOnceAsItWasAsked(t *testing.T) {
	r := newRig(t)
	command := "printf '%s\\n' \"<b>&\u2028 号 $((1+1))\" >> out.txt"
	write := map[string]string{
		"file_path": filepath.Join(r.cfg.Project, "w.txt"), "content": "<a> & \u2028 ` + \"`\" + ` 汉字\n",
	}
	r.decide = func(q claude.ToolAsk) claude.Decision { return claude.Decision{Allow: true, Input: q.Input} }
	r.calls(bash(command), modelsim.Tool("Write", write))
	a := r.turn(t.Context(), "a", fresh(), "go")
	if a.err != nil || a.result.Failure != "" {
		t.Fatalf("%+v, %v", a.result, a.err)
	}
	asked := a.asked()
	if len(asked) != 2 || !strings.HasPrefix(asked[0], "default Bash ") ||
		!strings.HasPrefix(asked[1], "default Write ") {
		t.Fatalf("asked %q", asked)
	}
	var in struct{ Command string }
	must(t, json.Unmarshal([]byte(strings.TrimPrefix(asked[0], "default Bash ")), &in))
	if in.Command != command {
		t.Errorf("asked for %q", in.Command)
	}
	if got := r.read("out.txt"); got != "<b>&\u2028 号 2\n" {
		t.Errorf("the command wrote %q", got)
	}
	if got := r.read("w.txt"); got != write["content"] {
		t.Errorf("the file holds %q", got)
	}
	i := slices.IndexFunc(a.events, func(ev claude.Event) bool { _, ok := ev.(claude.ToolAllowed); return ok })
	use := slices.IndexFunc(a.events, func(ev claude.Event) bool { _, ok := ev.(claude.ToolUse); return ok })
	if i < 0 || use < 0 || a.events[i].(claude.ToolAllowed).ID != a.events[use].(claude.ToolUse).ID {
		t.Errorf("events %+v", a.events)
	}
}

func TestARefusedToolDoesNotRunAndTheAgentReadsWhy(t *testing.T) {
	r := newRig(t)
	r.decide = func(claude.ToolAsk) claude.Decision { return claude.Decision{Why: "先跑测试 \"first\""} }
	r.calls(bash("touch made.txt"))
	a := r.turn(t.Context(), "a", fresh(), "go")
	denied := slices.ContainsFunc(a.events, func(ev claude.Event) bool {
		e, ok := ev.(claude.ToolDenied)
		return ok && e.Name == "Bash" && e.ID != ""
	})
	if a.err != nil || a.result.Failure != "" || len(a.asked()) != 1 || !denied {
		t.Fatalf("%q, denied %v, %+v, %v", a.asked(), denied, a.result, a.err)
	}
	if _, err := os.Stat(filepath.Join(r.cfg.Project, "made.txt")); err == nil {
		t.Error("the tool ran")
	}
	list := r.model.Requests()
	if !strings.Contains(list[len(list)-1].AllText(), "先跑测试 \"first\"") {
		t.Error("the agent was not told why")
	}
}

// People are asked in turns of one session.
func TestPeopleAreAsked(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		r, spec := newRig(t, withCLI(command)), fresh()
		for _, part := range []struct {
			name string
			test func(*rig, claude.Spec)
		}{
			{"what the CLI proposes", whatTheCLIProposes}, {"the agent asks people", theAgentAsksPeople},
			{"a turn is stopped while it asks", aTurnIsStoppedWhileItAsks},
			{"plan mode is no way around permissions", planModeIsNoWayAroundPermissions},
		} {
			t.Run(part.name, func(t *testing.T) {
				same := *r
				same.T = t
				part.test(&same, spec)
			})
			spec.Resume = true
		}
	})
}

// The CLI suggests rules for "always allow". A suggestion that changes its mode is no rule.
func whatTheCLIProposes(r *rig, spec claude.Spec) {
	var got []claude.Rule
	r.decide = func(q claude.ToolAsk) claude.Decision {
		got = append(got, q.Rules...)
		return claude.Decision{Why: "no"}
	}
	r.calls(bash("git push origin main"), bash("python3 x.py && git push"),
		modelsim.Tool("Write", map[string]string{"file_path": filepath.Join(r.cfg.Project, "w"), "content": "x"}))
	a := r.turn(r.Context(), "a", spec, "go")
	want := []claude.Rule{
		{Tool: "Bash", Content: "git push *"}, {Tool: "Bash", Content: "python3 x.py"},
		{Tool: "Bash", Content: "git push *"},
	}
	if a.err != nil || !slices.Equal(got, want) {
		r.Errorf("%q, %v", got, a.err)
	}
}

func theAgentAsksPeople(r *rig, spec claude.Spec) {
	r.decide = func(q claude.ToolAsk) claude.Decision {
		in := map[string]any{}
		must(r.T, json.Unmarshal(q.Input, &in))
		in["answers"] = map[string]string{"Which colour?": "Blue", "Which sizes?": "S, L"}
		data, err := json.Marshal(in)
		must(r.T, err)
		return claude.Decision{Allow: true, Input: data}
	}
	option := func(label string) map[string]string { return map[string]string{"label": label, "description": "d"} }
	r.calls(modelsim.Tool(claude.QuestionTool, map[string]any{"questions": []any{
		map[string]any{
			"question": "Which colour?", "header": "Colour", "multiSelect": false, "options": []any{
				option("Red"), option("Blue"),
			},
		},
		map[string]any{
			"question": "Which sizes?", "header": "Size", "multiSelect": true, "options": []any{
				option("S"), option("L"),
			},
		},
	}}))
	a := r.turn(r.Context(), "a", spec, "go")
	list := r.model.Requests()
	if text := list[len(list)-1].AllText(); a.err != nil || !strings.Contains(text, `"Which colour?"="Blue"`) ||
		!strings.Contains(text, `"Which sizes?"="S, L"`) {
		r.Errorf("%v, the agent read %q", a.err, text[max(0, len(text)-600):])
	}
}

// An approved plan ends plan mode for its turn only. The next turn of the chat is in plan mode again.
func TestAPlanIsApprovedForItsTurnOnly(t *testing.T) {
	claudetest.Versions(t, aPlanIsApprovedForItsTurnOnly)
}

func aPlanIsApprovedForItsTurnOnly(t *testing.T, command string) {
	r := newRig(t, withCLI(command))
	r.decide = func(q claude.ToolAsk) claude.Decision {
		return claude.Decision{Allow: q.Name == claude.PlanTool, Input: q.Input, Why: "no"}
	}
	r.calls(modelsim.Tool(claude.PlanTool, map[string]string{"plan": "1. x"}), bash("touch a"))
	spec := fresh()
	spec.Mode = claude.PlanMode
	first := r.turn(t.Context(), "a", spec, "go")
	r.calls(bash("touch b"))
	second := r.turn(t.Context(), "a", spec, "more")
	if first.err != nil || second.err != nil || r.pool.Stats().Started != 1 {
		t.Fatalf("%v, %v, %+v", first.err, second.err, r.pool.Stats())
	}
	want := []string{`plan ExitPlanMode {"plan":"1. x"}`, `default Bash {"command":"touch a","description":"x"}`}
	if got := first.asked(); !slices.Equal(got, want) {
		t.Errorf("first %q", got)
	}
	if got := second.asked(); len(got) != 1 || !strings.HasPrefix(got[0], "plan Bash") {
		t.Errorf("second %q", got)
	}
}

// The agent may enter plan mode by itself. That must not spare it the questions.
func planModeIsNoWayAroundPermissions(r *rig, spec claude.Spec) {
	r.calls(modelsim.Tool("EnterPlanMode", map[string]string{}), bash("touch made.txt"))
	a := r.turn(r.Context(), "a", spec, "go")
	if got := a.asked(); a.err != nil || len(got) != 1 || !strings.HasPrefix(got[0], "plan Bash") {
		r.Errorf("asked %q, %v", got, a.err)
	}
	if _, err := os.Stat(filepath.Join(r.cfg.Project, "made.txt")); err == nil {
		r.Error("the tool ran")
	}
}

// A turn that is stopped while it asks ends at once. A later decision has no effect.
func aTurnIsStoppedWhileItAsks(r *rig, spec claude.Spec) {
	ctx, stop := context.WithCancelCause(r.Context())
	defer stop(nil)
	r.calls(bash("touch made.txt"))
	spec.Mode = "default"
	p := r.acquire("a", spec)
	defer r.pool.Release(p)
	var ask, end string
	stopped := errors.New("stopped")
	for ev, err := range p.Run(ctx, uuid.NewString(), "go") {
		if err != nil {
			if !errors.Is(err, stopped) {
				r.Error(err)
			}
			break
		}
		switch e := ev.(type) {
		case claude.ToolAsk:
			ask = e.ID
			stop(stopped)
		case claude.ToolAskEnd:
			end = e.ID
			if p.Answer(e.ID, claude.Decision{Allow: true, Input: json.RawMessage(`{}`)}) {
				r.Error("an ask was answered after its end")
			}
		}
	}
	if ask == "" || end != ask {
		r.Errorf("ask %q, its end %q", ask, end)
	}
	if p.Answer(ask, claude.Decision{}) {
		r.Error("an ask was answered after its turn")
	}
	if _, err := os.Stat(filepath.Join(r.cfg.Project, "made.txt")); err == nil {
		r.Error("the tool ran")
	}
}

// Each mode asks what it should, and runs what is allowed.
func TestWhatTheModesAsk(t *testing.T) {
	t.Parallel()
	for mode, tc := range map[string]struct {
		asks    []string
		changes bool // whether the agent may do what no rule allows
	}{
		"default":           {asks: []string{claude.QuestionTool, "Bash"}},
		"plan":              {asks: []string{claude.QuestionTool, "Bash"}},
		"acceptEdits":       {asks: []string{claude.QuestionTool}, changes: true},
		"bypassPermissions": {asks: []string{claude.QuestionTool}, changes: true},
		"dontAsk":           {},
	} {
		t.Run(mode, func(t *testing.T) {
			r := newRig(t, func(c *claude.Config) {
				c.Env = map[string]string{"IS_SANDBOX": "1"} // root may not bypass permissions otherwise
				c.AllowedTools = []string{"Bash(touch *)", "Read"}
			})
			option := func(label string) map[string]string {
				return map[string]string{"label": label, "description": "d"}
			}
			r.calls(modelsim.Tool(claude.QuestionTool, map[string]any{"questions": []any{
				map[string]any{
					"question": "Which?", "header": "W", "multiSelect": false, "options": []any{
						option("a"), option("b"),
					},
				},
			}}), bash("mkdir changed"), bash("touch allowed"))
			spec := fresh()
			spec.Mode = mode
			a := r.turn(t.Context(), "a", spec, "go")
			var got []string
			for _, ev := range a.events {
				if q, ok := ev.(claude.ToolAsk); ok && q.Mode == mode {
					got = append(got, q.Name)
				}
			}
			if a.err != nil || a.result.Failure != "" || !slices.Equal(got, tc.asks) {
				t.Errorf("asked %q, %+v, %v", got, a.result, a.err)
			}
			for name, want := range map[string]bool{"changed": tc.changes, "allowed": true} {
				if _, err := os.Stat(filepath.Join(r.cfg.Project, name)); (err == nil) != want {
					t.Errorf("%s: ran %v, want %v", name, err == nil, want)
				}
			}
		})
	}
}

// A turn that waits for a decision does not keep other turns waiting.
func TestATurnThatAsksReleasesItsSlot(t *testing.T) {
	r := newRig(t, scripted(t), func(c *claude.Config) { c.MaxProcesses = 1 })
	r.calls(bash("touch a"), modelsim.Text("one"), modelsim.Text("two"))
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	spec := claude.Spec{Session: uuid.NewString(), Dir: r.cfg.Project, Mode: "default"}
	p, err := r.pool.Acquire(ctx, "a", spec)
	must(t, err)
	var said string
	for ev, err := range p.Run(ctx, uuid.NewString(), "go") {
		must(t, err)
		switch e := ev.(type) {
		case claude.ToolAsk:
			r.pool.Yield(p)
			r.pool.Yield(p) // the second call has no effect
			if s := r.pool.Stats(); s.Running != 0 || s.Yielded != 1 {
				t.Errorf("while it asks: %+v", s)
			}
			if b := r.turn(ctx, "b", fresh(), "hello"); b.err != nil || b.text() != "one" {
				t.Errorf("the other turn: %q, %v", b.text(), b.err)
			}
			p.Answer(e.ID, claude.Decision{Allow: true, Input: e.Input})
		case claude.Text:
			said = e.Text
		}
	}
	r.pool.Release(p)
	if said != "two" {
		t.Errorf("said %q", said)
	}
	// neither more nor fewer slots than before
	if c := r.turn(ctx, "c", fresh(), "数到 3"); c.err != nil || c.text() != "1 2 3" {
		t.Errorf("afterwards: %q, %v", c.text(), c.err)
	}
	if err := poll(t.Context(), "one place in use", func() bool {
		s := r.pool.Stats()
		return s.Running+s.Idle == 1 && s.Yielded == 0
	}); err != nil {
		t.Errorf("%v: %+v", err, r.pool.Stats())
	}
}
