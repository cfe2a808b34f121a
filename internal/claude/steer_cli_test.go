package claude_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
	"magpie/internal/modelsim"
)

// agents runs a test with each version of the CLI, and with the scripted agent.
func agents(t *testing.T, test func(t *testing.T, command string)) {
	claudetest.Versions(t, test)
	t.Run("scripted", func(t *testing.T) { test(t, claudetest.Scripted(t)) })
}

// steeredTurn runs a turn to which messages are handed at the first event that when accepts, and returns their ids. Once
// they are in the agent's input it calls arrived.
func (r *rig) steeredTurn(ctx context.Context, p *claude.Process, id string, when func(claude.Event) bool,
	arrived func(), messages ...string) (ids []string, a answer) {
	r.Helper()
	var waiting sync.WaitGroup
	defer waiting.Wait()
	for ev, err := range p.Run(ctx, id, "go on") {
		if err != nil {
			a.err = err
			break
		}
		a.take(ev)
		if len(ids) > 0 || !when(ev) {
			continue
		}
		for _, text := range messages {
			ids = append(ids, uuid.NewString())
			if !p.Steer(ids[len(ids)-1], text) {
				r.Errorf("%q was not accepted", text)
			}
		}
		waiting.Go(func() {
			if err := p.AwaitInput(ctx); err != nil {
				r.Error(err)
			}
			arrived()
		})
	}
	return ids, a
}

func (a answer) steered() (ids []string) {
	for _, ev := range a.events {
		if e, ok := ev.(claude.Steered); ok {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// isText reports whether an event is a piece of the answer.
func isText(ev claude.Event) bool {
	_, ok := ev.(claude.Text)
	return ok
}

// The agent reads a message once the running tool has ended.
func TestAMessageReachesTheAgentAfterATool(t *testing.T) {
	agents(t, func(t *testing.T, command string) {
		r := newRig(t, withCLI(command), func(c *claude.Config) { c.AllowedTools = []string{"Bash"} })
		tool, end := r.gate()
		r.model.Script(
			modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("first"), bash(tool + " >> out.txt")}},
			modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("second")}})
		spec, id := fresh(), uuid.NewString()
		p := r.acquire("a", spec)
		if p.Steer(uuid.NewString(), "too early") {
			t.Error("a message was accepted before a turn runs")
		}
		ids, a := r.steeredTurn(t.Context(), p, id, func(ev claude.Event) bool {
			_, ok := ev.(claude.ToolUse)
			return ok
		}, end, "also: the blue ones")
		if a.err != nil || a.text() != "first|second" || !slices.Equal(a.steered(), ids) {
			t.Errorf("answer %q, read %v, want %v; %v", a.text(), a.steered(), ids, a.err)
		}
		if p.Steer(uuid.NewString(), "too late") {
			t.Error("a message was accepted after the turn")
		}
		list := r.model.Requests()
		if n := len(list); n != 2 || !strings.Contains(list[1].AllText(), "also: the blue ones") {
			t.Errorf("%d requests, the last: %s", n, list[n-1].AllText())
		}
		r.pool.Release(p)
		<-r.pool.Drop("a")
		r.readAs(spec, id, ids, claude.Outcome{Text: "first\n\nsecond", Acted: true})
	})
}

// readAs checks what the transcript says about a turn, and that the session can be resumed.
func (r *rig) readAs(spec claude.Spec, id string, steered []string, want claude.Outcome) {
	r.Helper()
	spec.Resume, spec.Dir = true, r.cfg.Project
	transcripts := r.cfg.Transcripts("")
	got, err := transcripts.ReadOutcome(r.cfg.Project, spec.Session, id, steered...)
	if err != nil || !got.Known || !got.Ended || got.Text != want.Text || got.Acted != want.Acted ||
		!slices.Equal(got.Steered, steered) {
		r.Errorf("the transcript shows %+v, want %+v, read %v; %v", got, want, steered, err)
	}
	s, err := transcripts.Verify(r.cfg.Project, spec.Session, append(slices.Clone(steered), id))
	if err != nil || !s.Whole {
		r.Errorf("the session: %+v, %v", s, err)
	}
	if a := r.turn(r.Context(), "a", spec, "我叫小明"); a.err != nil || a.text() == "" {
		r.Errorf("next turn: %q, %v", a.text(), a.err)
	}
}

// Messages that arrive while the agent writes are read together when it has finished; it then continues.
func TestAMessageMakesTheAnswerGoOn(t *testing.T) {
	agents(t, func(t *testing.T, command string) {
		r := newRig(t, withCLI(command))
		hold := make(chan struct{})
		r.model.Script(
			modelsim.Rule{Times: 1, Steps: []modelsim.Step{
				modelsim.Usage(1000), modelsim.Text("one"), modelsim.Hold(hold), modelsim.Text(" two"),
			}},
			modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Usage(1500), modelsim.Text("three")}})
		spec, id := fresh(), uuid.NewString()
		p := r.acquire("a", spec)
		ids, a := r.steeredTurn(t.Context(), p, id, isText, func() { close(hold) }, "also: four", "also: five")
		if a.err != nil || a.text() != "one two|three" || !slices.Equal(a.steered(), ids) {
			t.Errorf("answer %q, read %v, want %v; %v", a.text(), a.steered(), ids, a.err)
		}
		if n := len(slices.DeleteFunc(slices.Clone(a.events), func(ev claude.Event) bool {
			_, ok := ev.(claude.Result)
			return !ok
		})); n != 1 {
			t.Errorf("%d results", n)
		}
		u := a.result.Usage
		if got := a.result; got.Text != "three" || u.Input+u.CacheRead+u.CacheNew != 2500 || got.CostUSD <= 0 {
			t.Errorf("result %+v", got)
		}
		if n := len(r.model.Requests()); n != 2 {
			t.Errorf("%d requests", n)
		}
		r.pool.Release(p)
		<-r.pool.Drop("a")
		r.readAs(spec, id, ids, claude.Outcome{Text: "one two\n\nthree"})
	})
}

// A message that is still unread when its turn is stopped stays unread: the CLI must not start a turn with it.
func TestAnUnreadMessageEndsWithItsTurn(t *testing.T) {
	agents(t, func(t *testing.T, command string) {
		r := newRig(t, withCLI(command))
		r.model.Script(modelsim.Rule{Steps: []modelsim.Step{modelsim.Text("on"), modelsim.Hang()}})
		spec, id := fresh(), uuid.NewString()
		p := r.acquire("a", spec)
		ctx, stop := context.WithCancelCause(t.Context())
		defer stop(nil)
		why := errors.New("stopped by a test")
		known := func() bool {
			o, err := r.cfg.Transcripts("").ReadOutcome(r.cfg.Project, spec.Session, id)
			return err == nil && o.Known
		}
		ids, a := r.steeredTurn(ctx, p, id, isText, func() {
			if err := poll(ctx, "the prompt in the transcript", known); err != nil { // the CLI writes it later
				t.Error(err)
			}
			stop(why)
		}, "also: more")
		if !errors.Is(a.err, why) || len(ids) != 1 || len(a.steered()) != 0 {
			t.Errorf("handed over %v, read %v; %v", ids, a.steered(), a.err)
		}
		r.pool.Release(p)
		<-r.pool.Drop("a")
		if n := len(r.model.Requests()); n != 1 || r.pool.Stats().Idle != 0 {
			t.Errorf("%d requests, %+v", n, r.pool.Stats())
		}
		o, err := r.cfg.Transcripts("").ReadOutcome(r.cfg.Project, spec.Session, id, ids...)
		if err != nil || !o.Known || len(o.Steered) != 0 || o.Ended {
			t.Errorf("the transcript shows %+v, %v", o, err)
		}
		r.model.Reset()
		spec.Resume = true
		if a := r.turn(t.Context(), "a", spec, "我叫小明"); a.err != nil || a.text() == "" ||
			strings.Contains(r.model.Requests()[0].AllText(), "also: more") {
			t.Errorf("next turn: %q, %v", a.text(), a.err)
		}
	})
}

// A message also continues a turn whose answer failed.
func TestAMessageIsReadAfterAFailure(t *testing.T) {
	agents(t, func(t *testing.T, command string) {
		r := newRig(t, withCLI(command))
		hold := make(chan struct{})
		r.model.Script(
			modelsim.Rule{Match: func(q *modelsim.Request) bool { return strings.Contains(q.AllText(), "also: more") },
				Steps: []modelsim.Step{modelsim.Text("read")}},
			modelsim.Rule{Steps: []modelsim.Step{modelsim.Hold(hold), modelsim.Fail(400, "invalid_request_error", "bad")}})
		ids, a := r.steeredTurn(t.Context(), r.acquire("a", fresh()), uuid.NewString(), func(ev claude.Event) bool {
			_, ok := ev.(claude.Started)
			return ok
		}, func() { close(hold) }, "/also: more") // not a command of the CLI
		if a.err != nil || a.result.Failure != "" || a.text() != "read" || !slices.Equal(a.steered(), ids) {
			t.Errorf("answer %q, %+v, read %v, want %v; %v", a.text(), a.result, a.steered(), ids, a.err)
		}
	})
}

// A path in a message that is handed to a running turn does not pull in the file, neither after a tool nor at the end
// of an answer.
func TestAttackAtPathsWhileATurnRuns(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		r := newRig(t, withCLI(command), func(c *claude.Config) { c.AllowedTools = []string{"Bash"} })
		path := filepath.Join(t.TempDir(), "secret.txt")
		write(t, path, "CANARY")
		write(t, filepath.Join(r.cfg.Project, "near.txt"), "CANARY")
		r.model.Script(
			modelsim.Rule{Times: 1, Steps: []modelsim.Step{bash("sleep 0.3; echo done >> out.txt")}},
			modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("second"), modelsim.Wait(300 * time.Millisecond)}})
		p := r.acquire("a", fresh())
		defer r.pool.Release(p)
		for ev, err := range p.Run(t.Context(), uuid.NewString(), "go on") {
			must(t, err)
			_, tool := ev.(claude.ToolUse)
			if e, ok := ev.(claude.Text); tool || ok && e.Text == "second" && !e.Whole {
				for _, text := range []string{"also: @" + path, "@near.txt", "also:\n@" + path + " and @\"" + path + "\""} {
					p.Steer(uuid.NewString(), text)
				}
			}
		}
		told := false
		for _, q := range r.model.Requests() {
			told = told || strings.Contains(q.AllText(), "@near.txt")
			if strings.Contains(q.AllText(), "CANARY") {
				t.Errorf("the file is in a request: %s", q.LastUser())
			}
		}
		if !told {
			t.Error("no message was read")
		}
	})
}

// A hook of the user may refuse a message, which the CLI does not report. The turn ends with the existing answer.
func TestAMessageThatAHookRefuses(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		r := newRig(t, withCLI(command))
		write(t, filepath.Join(r.cfg.Project, ".claude", "settings.json"),
			`{"hooks":{"UserPromptSubmit":[{"hooks":[{"type":"command","command":"! grep -q also: || exit 2"}]}]}}`)
		hold := make(chan struct{})
		r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{
			modelsim.Usage(1000), modelsim.Text("one"), modelsim.Hold(hold), modelsim.Text(" two"),
		}})
		p := r.acquire("a", fresh())
		ids, a := r.steeredTurn(t.Context(), p, uuid.NewString(), isText, func() { close(hold) }, "also: four")
		if a.err != nil || a.text() != "one two" || a.result.Failure != "" || a.result.CostUSD <= 0 {
			t.Errorf("answer %q, %+v, %v", a.text(), a.result, a.err)
		}
		if len(ids) != 1 || len(a.steered()) != 0 {
			t.Errorf("handed over %v, read %v", ids, a.steered())
		}
		r.pool.Release(p)
		<-r.pool.Drop("a")
		if n := len(r.model.Requests()); n != 1 || r.pool.Stats().Idle != 0 {
			t.Errorf("%d requests, %+v", n, r.pool.Stats())
		}
	})
}
