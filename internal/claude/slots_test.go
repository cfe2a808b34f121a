package claude_test

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
)

// scriptedRig is a rig with the scripted agent.
func scriptedRig(t *testing.T, change func(*claude.Config)) *rig {
	t.Helper()
	t.Parallel()
	cfg := claudetest.ScriptedConfig(t)
	change(&cfg)
	pool := claude.NewPool(cfg)
	t.Cleanup(pool.Close)
	return &rig{T: t, cfg: cfg, pool: pool}
}

// blocked counts the goroutines that wait in a function.
func blocked(in string) int {
	buf := make([]byte, 1<<20)
	return strings.Count(string(buf[:runtime.Stack(buf, true)]), in)
}

// A task outside the chats does not end an idle process, however long it has to wait. It starts once a slot is free.
func TestATaskEndsNoProcess(t *testing.T) {
	r := scriptedRig(t, func(c *claude.Config) { c.MaxProcesses, c.Quiet = 2, time.Millisecond })
	a, b := fresh(), fresh()
	replied := make(chan error, 1)
	for i := range 20 {
		for owner, spec := range map[string]claude.Spec{"a": a, "b": b} {
			if got := r.turn(t.Context(), owner, spec, "hello"); got.err != nil || got.text() != "echo: hello" {
				t.Fatalf("%q, %v", got.text(), got.err)
			}
		}
		if i == 0 {
			go func() { _, err := r.pool.RunErrand(t.Context(), sumUp); replied <- err }()
		}
	}
	if s := r.pool.Stats(); s.Started != 2 || s.Idle != 2 {
		t.Errorf("%+v", s)
	}
	<-r.pool.Drop("a")
	if err := <-replied; err != nil || !r.pool.HasIdle("b", b.Session) {
		t.Errorf("the question: %v", err)
	}
}

// A turn that needs a slot takes that of such a task, not that of an idle process that waits for its chat.
func TestATaskMakesRoomBeforeAProcess(t *testing.T) {
	r := scriptedRig(t, func(c *claude.Config) {
		c.MaxProcesses, c.Quiet = 2, time.Millisecond
		c.Env["MAGPIE_SCRIPTED_FAULTS"] = "1"
	})
	a := fresh()
	r.turn(t.Context(), "a", a, "hello")
	silent := sumUp
	silent.Text = "fault: silence"
	ctx, stop := context.WithCancel(t.Context())
	replied := make(chan error, 1)
	go func() { _, err := r.pool.RunErrand(ctx, silent); replied <- err }()
	if err := poll(t.Context(), "the question", func() bool { return r.pool.Stats().Started == 2 }); err != nil {
		t.Fatal(err)
	}
	if got := r.turn(t.Context(), "b", fresh(), "hello"); got.err != nil {
		t.Error(got.err)
	}
	if s := r.pool.Stats(); !r.pool.HasIdle("a", a.Session) || s.Idle != 2 || s.Started != 3 {
		t.Errorf("a lives: %v, %+v", r.pool.HasIdle("a", a.Session), s)
	}
	stop()
	if err := <-replied; !errors.Is(err, context.Canceled) {
		t.Errorf("the question: %v", err)
	}
}

// A task that somebody waits for does not wait for idle processes: it takes the slot of its own chat's process.
func TestATaskThatSomebodyWaitsFor(t *testing.T) {
	r := scriptedRig(t, func(c *claude.Config) { c.MaxProcesses, c.Quiet = 2, time.Hour })
	a, b := fresh(), fresh()
	r.turn(t.Context(), "a", a, "hello")
	r.turn(t.Context(), "b", b, "hello")
	wanted, replied := make(chan struct{}), make(chan error, 1)
	q := sumUp
	q.Owner, q.Wanted = "b", wanted
	go func() { _, err := r.pool.RunErrand(t.Context(), q); replied <- err }()
	if err := poll(t.Context(), "the question",
		func() bool { return blocked("claude.(*Pool).awaitQuiet(") > 0 }); err != nil {
		t.Fatal(err)
	}
	close(wanted)
	if err := <-replied; err != nil || !r.pool.HasIdle("a", a.Session) || r.pool.HasIdle("b", b.Session) {
		t.Errorf("%v, a lives: %v, b lives: %v", err, r.pool.HasIdle("a", a.Session), r.pool.HasIdle("b", b.Session))
	}
}

// No more processes start at the same time than there are cores.
func TestConcurrentStartsAreLimited(t *testing.T) {
	r := scriptedRig(t, func(c *claude.Config) { c.MaxTurns, c.MaxProcesses = 100, 100 })
	var list []*claude.Process
	for i := range runtime.GOMAXPROCS(0) {
		list = append(list, r.acquire(string(rune('a'+i)), fresh()))
	}
	next := make(chan *claude.Process)
	go func() { next <- r.acquire("next", fresh()) }()
	if err := poll(t.Context(), "a start that waits",
		func() bool { return blocked("claude.(*Pool).acquireRoom(") > 0 }); err != nil {
		t.Fatal(err)
	}
	if s := r.pool.Stats(); s.Started != len(list) {
		t.Errorf("%+v", s)
	}
	if _, a := r.ask(list[0], nil); a.err != nil { // started, from its first line on
		t.Fatal(a.err)
	}
	r.pool.Release(<-next)
	for _, p := range list {
		r.pool.Release(p)
	}
}

// With fewer processes than chats, the most active chats keep theirs; a new process takes the slot of the least active
// chat.
func TestTheLeastUsedProcessGoes(t *testing.T) {
	r := scriptedRig(t, func(c *claude.Config) { c.MaxProcesses = 3 })
	specs := map[string]claude.Spec{}
	say := func(owner string) {
		t.Helper()
		if specs[owner].Session == "" {
			specs[owner] = fresh()
		}
		if a := r.turn(t.Context(), owner, specs[owner], "hello"); a.err != nil {
			t.Fatal(a.err)
		}
	}
	for _, owner := range []string{"a", "b", "c", "a", "d", "a"} {
		say(owner)
	}
	for owner, want := range map[string]bool{"a": true, "b": false, "c": true, "d": true} {
		if r.pool.HasIdle(owner, specs[owner].Session) != want {
			t.Errorf("%s lives: %v", owner, !want)
		}
	}
	if s := r.pool.Stats(); s.Started != 4 {
		t.Errorf("%+v", s)
	}
}

// With more chats than processes, chats are served in the order in which they came, whichever process has to end.
func TestChatsAreServedInOrder(t *testing.T) {
	const people = 32
	r := scriptedRig(t, func(c *claude.Config) { c.MaxTurns, c.MaxProcesses = 1, 4 })
	first := r.acquire("first", fresh())
	served := make(chan int)
	for i := range people {
		owner := "chat " + strconv.Itoa(i%8) // each chat asks several times
		go func() {
			p, err := r.pool.Acquire(t.Context(), owner, withDir(fresh(), r.cfg.Project))
			if err != nil {
				t.Error(err)
			}
			served <- i
			r.pool.Release(p)
		}()
		if err := poll(t.Context(), owner+" in the queue",
			func() bool { return r.pool.Stats().Waiting == i+1 }); err != nil {
			t.Fatal(err)
		}
	}
	r.pool.Release(first)
	for i := range people {
		if got := <-served; got != i {
			t.Errorf("number %d was served as number %d", got, i)
		}
	}
}
