package claude_test

import (
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
)

// Whoever drops the process of a chat can wait for its end, also if it was dropped before: it still writes in its folder.
func TestAProcessIsDroppedTwice(t *testing.T) {
	r := newRig(t)
	r.turn(t.Context(), "a", withDir(fresh(), r.cfg.Project), "hello")
	gone := r.pool.Drop("a")
	<-r.pool.Drop("a")
	select {
	case <-gone:
	default:
		t.Error("it has not ended yet")
	}
}

// A process that is started ahead of a turn resumes the session, which is verified as usual. Before the turn it makes
// no request and writes nothing. The turn then uses it, and no other process is started.
func TestAProcessIsStartedAheadOfItsTurn(t *testing.T) { claudetest.Versions(t, startedAhead) }

func startedAhead(t *testing.T, command string) {
	r := newRig(t, withCLI(command))
	spec := withDir(fresh(), r.cfg.Project)
	r.turn(t.Context(), "a", spec, "我叫小明")
	<-r.pool.Drop("a")
	path, err := r.cfg.Transcripts("a").Path(spec.Dir, spec.Session)
	must(t, err)
	before, err := os.ReadFile(path)
	must(t, err)
	spec.Resume = true
	asked, verified := len(r.model.Requests()), 0
	spec.Known = func() []string { verified++; return nil }
	must(t, r.pool.StartAhead(t.Context(), "a", spec))
	must(t, r.pool.StartAhead(t.Context(), "a", spec)) // no effect: it runs already
	if s := r.pool.Stats(); s.Idle != 1 || s.Started != 2 || verified != 1 {
		t.Errorf("%+v, verified %d times", s, verified)
	}
	if r.pool.HasIdle("a", spec.Session) {
		t.Error("it counts as having served a turn")
	}
	must(t, poll(t.Context(), "a process that has read its session", r.pool.Ready))
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) ||
		len(r.model.Requests()) != asked {
		t.Errorf("the transcript has become %d bytes longer, %v; %d requests", len(after)-len(before), err,
			len(r.model.Requests())-asked)
	}
	p := r.acquire("a", spec)
	if s := r.pool.Stats(); s.Started != 2 || !p.Fresh() {
		t.Errorf("the turn has another process: %+v", s)
	}
	must(t, r.pool.StartAhead(t.Context(), "a", spec)) // no effect: a turn runs
	r.pool.Release(p)
	if a := r.turn(t.Context(), "a", spec, "我叫什么名字？"); a.err != nil || a.text() != "你叫小明。" {
		t.Errorf("%q %v", a.text(), a.err)
	}
	if s := r.pool.Stats(); s.Started != 2 {
		t.Errorf("%+v", s)
	}
}

// No process is started ahead for a session that its turn would find lost. An unused one ends after a while, and makes
// room for any other process.
func TestAProcessAheadMakesRoom(t *testing.T) {
	r := newRig(t, scripted(t), func(c *claude.Config) { c.MaxProcesses, c.Ahead = 3, time.Hour })
	lost := withDir(resumed(fresh()), r.cfg.Project)
	var gone *claude.LostError
	if err := r.pool.StartAhead(t.Context(), "a", lost); !errors.As(err, &gone) {
		t.Errorf("%v for a session that is not there", err)
	}
	limited := withDir(fresh(), r.cfg.Project)
	limited.Budget = 1
	must(t, r.pool.StartAhead(t.Context(), "a", limited))
	if s := r.pool.Stats(); s.Started != 0 || s.Idle != 0 || s.Running != 0 {
		t.Errorf("%+v", s)
	}
	r.pool.Release(r.acquire("idle", fresh()))
	must(t, r.pool.StartAhead(t.Context(), "ahead", withDir(fresh(), r.cfg.Project)))
	must(t, r.pool.StartAhead(t.Context(), "no room", withDir(fresh(), r.cfg.Project))) // one slot is left
	if s := r.pool.Stats(); s.Started != 2 || s.Idle != 2 {
		t.Errorf("%+v", s)
	}
	one, two := r.acquire("one", fresh()), r.acquire("two", fresh())
	if s := r.pool.Stats(); s.Idle != 1 || s.Running != 2 {
		t.Errorf("%+v", s)
	}
	must(t, r.pool.StartAhead(t.Context(), "idle", withDir(fresh(), r.cfg.Project)))
	if s := r.pool.Stats(); s.Started != 4 {
		t.Errorf("the other chat's process was ended instead of the unused one: %+v", s)
	}
	r.pool.Release(one)
	r.pool.Release(two)
}

func TestAProcessAheadEndsUnused(t *testing.T) {
	r := newRig(t, scripted(t), func(c *claude.Config) { c.Ahead = 50 * time.Millisecond })
	must(t, r.pool.StartAhead(t.Context(), "a", withDir(fresh(), r.cfg.Project)))
	must(t, poll(t.Context(), "its end", func() bool { s := r.pool.Stats(); return s.Idle == 0 && s.Running == 0 }))
	if s := r.pool.Stats(); s.Started != 1 {
		t.Errorf("%+v", s)
	}
}

// The process of a new conversation that somebody asked for waits longer than one that was started on a hint such as a
// press, but no longer than processes are kept. It still makes room for any turn.
func TestTheProcessOfANewConversationWaits(t *testing.T) {
	r := newRig(t, scripted(t), func(c *claude.Config) { c.Ahead, c.MaxProcesses = 50*time.Millisecond, 3 })
	must(t, r.pool.StartNew(t.Context(), "new", withDir(fresh(), r.cfg.Project)))
	must(t, r.pool.StartAhead(t.Context(), "sign", withDir(fresh(), r.cfg.Project)))
	must(t, poll(t.Context(), "the end of the other", func() bool { s := r.pool.Stats(); return s.Idle+s.Running == 1 }))
	if !r.pool.Holds("new") {
		t.Fatal("it ended first")
	}
	running := map[string]*claude.Process{}
	for _, owner := range []string{"a", "b", "c"} {
		running[owner] = r.acquire(owner, withDir(fresh(), r.cfg.Project))
	}
	if s := r.pool.Stats(); s.Running != 3 || s.Idle != 0 || r.pool.Holds("new") {
		t.Errorf("%+v", s)
	}
	for _, p := range running {
		r.pool.Release(p)
	}
}

func TestTheProcessOfANewConversationIsKeptAsOthers(t *testing.T) {
	r := newRig(t, scripted(t), func(c *claude.Config) {
		c.Ahead, c.KeepAlive.Duration = 50*time.Millisecond, 60*time.Millisecond
	})
	must(t, r.pool.StartNew(t.Context(), "new", withDir(fresh(), r.cfg.Project)))
	must(t, poll(t.Context(), "its end", func() bool { s := r.pool.Stats(); return s.Idle+s.Running == 0 }))
}

// While a turn waits for other turns to end, its process may already start if there is room for the processes that go
// first.
func TestTheProcessStartsWhileItsTurnWaits(t *testing.T) {
	r := newRig(t, scripted(t), func(c *claude.Config) { c.MaxTurns, c.MaxProcesses = 1, 3 })
	first := r.acquire("first", withDir(fresh(), r.cfg.Project))
	got := make(chan *claude.Process, 2)
	for i, owner := range []string{"second", "third"} {
		go func() {
			p, err := r.pool.Acquire(t.Context(), owner, withDir(fresh(), r.cfg.Project))
			if err != nil {
				t.Error(err)
			}
			got <- p
		}()
		must(t, poll(t.Context(), owner, func() bool { s := r.pool.Stats(); return s.Waiting == i+1 && s.Idle == 1 }))
	}
	if s := r.pool.Stats(); s.Started != 2 || !r.pool.Holds("second") { // one slot is left
		t.Errorf("%+v", s)
	}
	r.pool.Release(first)
	second := <-got
	if s := r.pool.Stats(); s.Started != 2 || !second.Fresh() {
		t.Errorf("the turn has another process: %+v", s)
	}
	r.pool.Release(second)
	r.pool.Release(<-got)
}

// A process that does not fit the next turn ends, and no other does.
func TestAnUnfitProcessIsReplaced(t *testing.T) {
	r := newRig(t, scripted(t))
	spec := withDir(fresh(), r.cfg.Project)
	r.turn(t.Context(), "a", spec, "hello")
	must(t, r.pool.DropUnfit("a", spec))
	if s := r.pool.Stats(); s.Idle != 1 {
		t.Errorf("it fits, and has ended: %+v", s)
	}
	spec.Resume, spec.Model = true, "opus"
	must(t, r.pool.DropUnfit("a", spec))
	must(t, r.pool.StartAhead(t.Context(), "a", spec))
	if s := r.pool.Stats(); s.Idle != 1 || s.Started != 2 {
		t.Errorf("%+v", s)
	}
	r.turn(t.Context(), "a", spec, "hello")
	if s := r.pool.Stats(); s.Started != 2 {
		t.Errorf("%+v", s)
	}
}

// A turn that arrives while its process is being started ahead waits for that process: a session has only one.
func TestATurnWaitsForItsStartingProcess(t *testing.T) {
	r := newRig(t, scripted(t))
	for range 20 {
		spec := withDir(fresh(), r.cfg.Project)
		before := r.pool.Stats().Started
		var both sync.WaitGroup
		var p *claude.Process
		var aheadErr, err error
		both.Go(func() { aheadErr = r.pool.StartAhead(t.Context(), "a", spec) })
		both.Go(func() { p, err = r.pool.Acquire(t.Context(), "a", spec) })
		both.Wait()
		must(t, errors.Join(aheadErr, err))
		if s := r.pool.Stats(); s.Started != before+1 || s.Running != 1 || s.Idle != 0 {
			t.Fatalf("%+v, %d at the beginning", s, before)
		}
		r.pool.Release(p)
		<-r.pool.Drop("a")
	}
}
