package claude_test

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
	"magpie/internal/modelsim"
)

// The CLI's own transcripts show the state of a session, however its last turn ended. It can be resumed in any state.
func TestVerifyKnowsTheEndOfASession(t *testing.T) {
	r := newRig(t, func(c *claude.Config) { c.AllowedTools = []string{"Bash"} })
	spec, transcripts := fresh(), r.cfg.Transcripts("")
	var asked []string // newest first
	knows := func(what string, whole bool) {
		t.Helper()
		got, err := transcripts.Verify(r.cfg.Project, spec.Session, asked)
		if err != nil || got != (claude.SyncState{Prompt: asked[0], Whole: whole}) {
			t.Errorf("%s: %+v %v", what, got, err)
		}
		var lost *claude.LostError
		for _, known := range [][]string{asked[1:], {uuid.NewString()}} {
			if got, err := transcripts.Verify(r.cfg.Project, spec.Session, known); !errors.As(err, &lost) ||
				lost.Cause != claude.LostForeign {
				t.Errorf("%s: %+v %v", what, got, err)
			}
		}
	}
	step := func(steps ...modelsim.Step) modelsim.Rule { return modelsim.Rule{Times: 1, Steps: steps} }
	half := step(modelsim.Text("half"), modelsim.Hang())
	for _, tc := range []struct {
		name  string
		rules []modelsim.Rule
		end   func(p *claude.Process, stop func()) // ends the turn after its first text; nil = it ends by itself
		whole bool
	}{
		{"answered", []modelsim.Rule{step(modelsim.Text("let me"), bash("echo hi")), step(modelsim.Text("done"))}, nil, true},
		{"failed", []modelsim.Rule{step(modelsim.Fail(400, "invalid_request_error", "bad"))}, nil, true},
		{"stopped", []modelsim.Rule{half}, func(_ *claude.Process, stop func()) { stop() }, true},
		{"killed", []modelsim.Rule{half},
			func(p *claude.Process, _ func()) { _ = syscall.Kill(p.Pid(), syscall.SIGKILL) }, false},
	} {
		// The pool's process resumes the session.
		r.model.Reset()
		spec.Known = func() []string { return asked }
		p := r.acquire("a", spec)
		if got := p.SyncState(); spec.Resume && got.Prompt != asked[0] {
			t.Errorf("before it is %s: standing %+v", tc.name, got)
		}
		next, a := r.ask(p, nil)
		if a.err != nil || a.result.Failure != "" {
			t.Fatal(a.err, a.result)
		}
		asked = append([]string{next}, asked...)
		r.model.Script(tc.rules...)
		asked = append([]string{r.askAndEnd(p, spec.Session, tc.end)}, asked...)
		r.pool.Release(p)
		<-r.pool.Drop("a")
		must(t, poll(t.Context(), "the end of the process", func() bool { return r.pool.Stats().Running == 0 }))
		knows(tc.name, tc.whole)
		spec.Resume = true
	}
	r.model.Reset()
	p := r.acquire("a", spec)
	next, a := r.ask(p, nil)
	if a.err != nil || a.result.Failure != "" {
		t.Fatal(a.err, a.result)
	}
	r.pool.Release(p)
	<-r.pool.Drop("a")
	asked = append([]string{next}, asked...)
	knows("resumed", true)
}

// askAndEnd runs one turn, which end may end once there is text and the prompt is in the transcript. It returns the id
// of the prompt.
func (r *rig) askAndEnd(p *claude.Process, session string, end func(*claude.Process, func())) string {
	r.Helper()
	ctx, stop := context.WithTimeout(r.Context(), patience)
	defer stop()
	id := uuid.NewString()
	for ev, err := range p.Run(ctx, id, "go on") {
		if err != nil {
			break
		}
		if _, ok := ev.(claude.Text); ok && end != nil {
			if err := poll(ctx, "the prompt in the transcript", func() bool {
				o, err := r.cfg.Transcripts("").ReadOutcome(r.cfg.Project, session, id)
				return err == nil && o.Known
			}); err != nil {
				r.Fatal(err)
			}
			end(p, stop)
		}
	}
	return id
}

// The CLI compacts a session by itself and writes its newest messages again.
func TestVerifyOfACompactedSession(t *testing.T) { claudetest.Versions(t, verifyOfACompactedSession) }

func verifyOfACompactedSession(t *testing.T, command string) {
	r := newRig(t, withCLI(command))
	spec := fresh()
	p := r.acquire("a", spec)
	var sent []string
	for range 4 {
		id, a := r.ask(p, nil)
		if a.err != nil {
			t.Fatal(a.err)
		}
		sent = append([]string{id}, sent...)
	}
	r.model.Script(modelsim.Rule{
		Times: 1, Steps: []modelsim.Step{
			modelsim.Fail(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
		},
	})
	compacted := false
	id, a := r.ask(p, func(ev claude.Event) {
		_, ok := ev.(claude.Compacting)
		compacted = compacted || ok
	})
	r.pool.Release(p)
	<-r.pool.Drop("a")
	if a.err != nil || !compacted {
		t.Fatal("not compacted", a.result, a.err)
	}
	if got, err := r.cfg.Transcripts("").Verify(r.cfg.Project, spec.Session,
		append([]string{id}, sent...)); err != nil || got != (claude.SyncState{Prompt: id, Whole: true}) {
		t.Errorf("%+v %v", got, err)
	}
}

// A transcript that was replaced by that of another session is refused before a process is started.
func TestThePoolRefusesASwappedTranscript(t *testing.T) {
	r := newRig(t, scripted(t))
	var ids, paths []string
	specs := []claude.Spec{fresh(), fresh()}
	for i, owner := range []string{"a", "b"} {
		p := r.acquire(owner, specs[i])
		id, a := r.ask(p, nil)
		r.pool.Release(p)
		<-r.pool.Drop(owner)
		path, err := r.cfg.Transcripts("").Path(r.cfg.Project, specs[i].Session)
		if a.err != nil || err != nil {
			t.Fatal(a.err, err)
		}
		ids, paths = append(ids, id), append(paths, path)
	}
	if err := os.Rename(paths[1], paths[0]); err != nil {
		t.Fatal(err)
	}
	spec := resumed(withDir(specs[0], r.cfg.Project))
	spec.Known = func() []string { return ids[:1] }
	started := r.pool.Stats().Started
	var lost *claude.LostError
	if _, err := r.pool.Acquire(t.Context(), "a", spec); !errors.As(err, &lost) || lost.Cause != claude.LostForeign {
		t.Errorf("%v", err)
	}
	if s := r.pool.Stats(); s.Started != started { // no process was started
		t.Errorf("%+v", s)
	}
}
