package claude_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
	"magpie/internal/modelsim"
)

// ask runs one turn and returns the id of its prompt with it.
func (r *rig) ask(p *claude.Process, each func(claude.Event)) (string, answer) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	id := uuid.NewString()
	var a answer
	for ev, err := range p.Run(ctx, id, "go on") {
		if err != nil {
			a.err = err
			break
		}
		a.take(ev)
		if each != nil {
			each(ev)
		}
	}
	return id, a
}

// answered is the text of an answer as users see it.
func answered(blocks []string) string {
	var parts []string
	for _, b := range blocks {
		if strings.TrimSpace(b) != "" {
			parts = append(parts, b)
		}
	}
	return strings.Join(parts, "\n\n")
}

// recorded is a turn: the id of its prompt, and what its events reported.
type recorded struct {
	id   string
	told answer
}

// The transcript must show the same about a turn as its events.
func TestReadOutcomeMatchesTheEvents(t *testing.T) {
	r := newRig(t, func(c *claude.Config) { c.AllowedTools = []string{"Bash"} })
	spec, turns := fresh(), map[string]recorded{}
	p := r.acquire("a", spec)
	bash := modelsim.Tool("Bash", map[string]any{"command": "echo hi", "description": "say hi"})
	step := func(steps ...modelsim.Step) modelsim.Rule { return modelsim.Rule{Times: 1, Steps: steps} }
	for _, tc := range []struct {
		name  string
		rules []modelsim.Rule
	}{
		{"text", []modelsim.Rule{step(modelsim.Thinking("hm"), modelsim.Text("one\n\ntwo"))}},
		{"tools", []modelsim.Rule{step(modelsim.Text("first"), bash, bash), step(modelsim.Text("second"))}},
		{"repeated", []modelsim.Rule{
			step(modelsim.Text("half an ans"), modelsim.Cut()), step(modelsim.Text("a whole answer")),
		}},
		{"repeated after an error", []modelsim.Rule{
			step(modelsim.Text("half an ans"), modelsim.Fail(529, "overloaded_error", "Overloaded")), step(modelsim.Text("a whole answer")),
		}},
		{"continued", []modelsim.Rule{step(modelsim.Text("cut "), modelsim.Stop("max_tokens")), step(modelsim.Text("off"))}},
		{"endless", []modelsim.Rule{{Steps: []modelsim.Step{modelsim.Text("on and on"), modelsim.Stop("max_tokens")}}}},
		{"failed", []modelsim.Rule{
			step(modelsim.Text("let me"), bash), step(modelsim.Fail(400, "invalid_request_error", "bad")),
		}},
		{"refused", []modelsim.Rule{step(modelsim.Text("no"), modelsim.Stop("refusal"))}},
		{"helped", []modelsim.Rule{
			step(modelsim.Tool("Agent", map[string]any{
				"description": "d", "prompt": "do it", "subagent_type": "general-purpose",
			})),
			step(modelsim.Text("helper speaks")), step(modelsim.Text("done")),
		}},
	} {
		r.model.Reset()
		r.model.Script(tc.rules...)
		id, a := r.ask(p, nil)
		if a.err != nil {
			t.Fatalf("%s: %v", tc.name, a.err)
		}
		turns[tc.name] = recorded{id, a}
	}
	r.model.Reset()
	r.ask(p, nil)
	r.pool.Release(p)
	<-r.pool.Drop("a")
	for name, turn := range turns {
		a := turn.told
		got, err := r.cfg.Transcripts("").ReadOutcome(r.cfg.Project, spec.Session, turn.id)
		if err != nil || !got.Known || !got.Ended {
			t.Errorf("%s: %+v %v", name, got, err)
		}
		acted := false
		for _, ev := range a.events {
			_, called := ev.(claude.ToolCall)
			acted = acted || called
		}
		if got.Text != answered(a.blocks) || got.Failure != a.result.Failure || got.Acted != acted {
			t.Errorf("%s: from the transcript %+v\nfrom the events %q, %+v, acted %v", name, got, answered(a.blocks),
				a.result, acted)
		}
		if name == "tools" && got.Usage != a.result.Usage {
			t.Errorf("usage from the transcript %+v, from the result %+v", got.Usage, a.result.Usage)
		}
	}
}

// Of a turn whose CLI was killed, unfinished text is lost, but each tool call is known.
func TestReadOutcomeOfAKilledTurn(t *testing.T) { claudetest.Versions(t, readOutcomeOfAKilledTurn) }

func readOutcomeOfAKilledTurn(t *testing.T, command string) {
	r := newRig(t, withCLI(command), func(c *claude.Config) { c.AllowedTools = []string{"Bash"} })
	mark := filepath.Join(t.TempDir(), "pid")
	r.model.Script(
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{
			modelsim.Text("let me"), modelsim.Tool("Bash", map[string]any{
				"command": "echo $$ > " + mark, "description": "mark",
			}),
		}},
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("half an ans"), modelsim.Hang()}},
	)
	spec := fresh()
	p := r.acquire("a", spec)
	path, err := r.cfg.Transcripts("").Path(r.cfg.Project, spec.Session)
	must(t, err)
	id, a := r.ask(p, func(ev claude.Event) {
		if e, ok := ev.(claude.Text); ok && strings.HasPrefix(e.Text, "half") {
			must(t, poll(t.Context(), "the tool's result in the transcript", func() bool { // the CLI writes it later
				data, _ := os.ReadFile(path)
				return strings.Contains(string(data), "tool_result")
			}))
			_ = syscall.Kill(p.Pid(), syscall.SIGKILL)
		}
	})
	r.pool.Release(p)
	if a.err == nil {
		t.Fatal("the CLI was not killed")
	}
	got, err := r.cfg.Transcripts("").ReadOutcome(r.cfg.Project, spec.Session, id)
	if err != nil || !got.Known || !got.Acted || got.Ended || got.Text != "let me" || got.Failure != "" {
		t.Errorf("%+v %v", got, err)
	}
}

// The CLI ignores a prompt whose id is already in its session, so an id is used only once.
func TestAPromptIsAcceptedOnce(t *testing.T) {
	r := newRig(t, func(c *claude.Config) { c.Grace = time.Second })
	spec := fresh()
	p := r.acquire("a", spec)
	id, a := r.ask(p, nil)
	r.pool.Release(p)
	<-r.pool.Drop("a")
	if a.err != nil {
		t.Fatal(a.err)
	}
	asked := len(r.model.Requests())
	p = r.acquire("a", resumed(spec))
	defer r.pool.Release(p)
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Second) // the CLI stays silent
	defer stop()
	for ev, err := range p.Run(ctx, id, "go on") {
		if _, ok := ev.(claude.Result); ok {
			t.Error("the prompt was accepted twice")
		}
		if err != nil {
			break
		}
	}
	if n := len(r.model.Requests()); n != asked {
		t.Errorf("the model was asked %d more times", n-asked)
	}
}
