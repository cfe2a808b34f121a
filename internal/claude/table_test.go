package claude

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"magpie/internal/claude/proctree"
	"magpie/internal/claude/stream"
	"magpie/internal/claude/workspace"
	"magpie/internal/configtype"
)

// newFakePool returns a pool whose processes do nothing. Their end takes a while.
func newFakePool(c Config) *Pool {
	pl := NewPool(c)
	pl.begin = func(_ *entry, spec Spec) (*Process, error) {
		in := stream.NewInput(struct {
			io.Writer
			io.Closer
		}{io.Discard, io.NopCloser(nil)})
		return &Process{
			child: proctree.New(nil, "", ""), spec: spec, in: in, out: newOutputRouter(in),
			session: sessionState{fresh: true},
		}, nil
	}
	pl.end = func(p *Process, _ context.Context) {
		p.ending.Do(func() {
			time.AfterFunc(100*time.Millisecond, func() {
				p.in.Close()
				p.child.Close()
			})
		})
		<-p.child.Exited()
	}
	return pl
}

// A process that a turn waits for starts at once, although others are starting that nobody waits for. The latter only
// start while a core is free.
func TestNoStartWaitsForASpareOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pl := newFakePool(Config{MaxProcesses: 100})
		pl.cores = 2
		place := func(s state) *entry {
			pl.mu.Lock()
			defer pl.mu.Unlock()
			return pl.add(&entry{state: s})
		}
		has := func(list ...*entry) { // their processes have started
			pl.mu.Lock()
			defer pl.mu.Unlock()
			for _, e := range list {
				e.core = false
			}
			pl.settle()
		}
		early := func() error { return pl.tryRoom(place(starting), 1, false) }
		one, two := place(starting), place(starting)
		must(t, errors.Join(pl.tryRoom(one, 1, false), pl.tryRoom(two, 1, false)))
		if err := early(); !errors.Is(err, ErrBusy) {
			t.Fatal("two starts do not fit two cores: ", err)
		}
		asked := []*entry{place(serving), place(serving)}
		for _, e := range asked { // none may wait: nothing would wake it
			must(t, pl.acquireRoom(t.Context(), e, ""))
		}
		if err := early(); !errors.Is(err, ErrBusy) {
			t.Error("a start that nobody waits for did not wait for a free core: ", err)
		}
		has(one, two) // their cores were lent to others
		if err := early(); !errors.Is(err, ErrBusy) {
			t.Error("a core was released twice: ", err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("the turn was stopped")
		time.AfterFunc(time.Second, func() { cancel(cause) })
		if err := pl.acquireRoom(ctx, place(serving), ""); !errors.Is(err, cause) {
			t.Errorf("a third start beside two: %v", err)
		}
		has(asked...)
		must(t, errors.Join(early(), early()))
		if err := early(); !errors.Is(err, ErrBusy) {
			t.Error("more than two cores are free: ", err)
		}
	})
}

// A turn that takes the slot of a spare process only waits for the end of that process where memory or the configured
// limit does not allow both.
func TestATurnAwaitsTheEndOfASpareOnlyIfItMust(t *testing.T) {
	plenty, little := &machine{machineWith(16*gb, 15*gb, "/", nil)}, &machine{machineWith(16*gb, gb/2, "/", nil)}
	stopped := errors.New("stopped")
	for name, tc := range map[string]struct {
		machine *machine
		want    error
	}{
		"memory for both": {plenty, nil}, "memory for one": {little, stopped}, "a number is configured": {nil, stopped},
	} {
		t.Run(name, func(t *testing.T) {
			pl := newFakePool(Config{MaxProcesses: 1})
			pl.machine = tc.machine
			end := make(chan struct{})
			pl.end = func(*Process, context.Context) { <-end }
			pl.mu.Lock()
			old := pl.add(&entry{state: spare, slot: true, p: &Process{out: newOutputRouter(nil)}})
			e := pl.add(&entry{state: serving, owner: "a"})
			pl.mu.Unlock()
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(stopped) // wakes the waiting turn
			if err := pl.acquireRoom(ctx, e, "a"); !errors.Is(err, tc.want) {
				t.Errorf("%v, want %v", err, tc.want)
			}
			if pl.Stats().Spare != 0 {
				t.Error("no spare process was ended")
			}
			close(end)
			<-old.gone
			pl.mu.Lock()
			defer pl.mu.Unlock()
			if free := pl.slots() == 0; free != (tc.want != nil) {
				t.Errorf("the place of the process is free: %v", free)
			}
		})
	}
}

// crowd is the chats of a pool whose processes do nothing.
type crowd struct {
	*rapid.T
	pl    *Pool
	dir   string
	tasks sync.WaitGroup

	mu     sync.Mutex
	came   int                 // turns so far
	served []int               // their numbers, in the order in which those were served that had to wait
	held   map[string]*Process // by chat
	stop   map[string]func()   // ends the turn of a chat that waits or is served
	alive  map[string]bool     // sessions with a process

	suspends bool
}

// newCrowd returns chats with a pool. begin and end of its processes check that no two have the same session.
func newCrowd(t *rapid.T, dir string, c Config) *crowd {
	w := &crowd{
		T: t, pl: newFakePool(c), dir: dir, held: map[string]*Process{}, stop: map[string]func(){},
		alive: map[string]bool{},
	}
	begin, end := w.pl.begin, w.pl.end
	w.pl.begin = func(e *entry, spec Spec) (*Process, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.alive[spec.Session] {
			t.Errorf("two processes use the session %q", spec.Session)
		}
		w.alive[spec.Session] = spec.Session != ""
		return begin(e, spec)
	}
	w.pl.end = func(p *Process, ctx context.Context) {
		end(p, ctx)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.alive[p.spec.Session] = false
	}
	return w
}

// spec is that of a chat, or of a spare process for a chat.
func (w *crowd) spec(owner, mode string) Spec {
	return Spec{
		Dir: w.dir, Session: "of " + owner, Mode: mode,
		Spare: func(string) Spec { return Spec{} },
	}
}

// ask is a turn of a chat, which is served until it is released.
func (w *crowd) ask(owner, mode string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stop[owner] != nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	w.came++
	w.stop[owner] = stop
	number, spec := w.came, w.spec(owner, mode)
	spec.Queued = func(place int) {
		if place == 0 && ctx.Err() == nil {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.served = append(w.served, number)
		}
	}
	w.tasks.Go(func() {
		p, err := w.pl.Acquire(ctx, owner, spec)
		w.mu.Lock()
		defer w.mu.Unlock()
		if err != nil {
			delete(w.stop, owner)
			return
		}
		p.session.fresh = false
		w.held[owner] = p
	})
}

// release ends the turn of a chat that is served, and stop that of one that waits.
func (w *crowd) release(owner string) {
	w.mu.Lock()
	p := w.held[owner]
	if p != nil {
		w.stop[owner]()
		delete(w.held, owner)
		delete(w.stop, owner)
	}
	w.mu.Unlock()
	if p != nil {
		w.pl.Release(p)
	}
}

// errand runs an errand that takes that long, and is wanted after a while.
func (w *crowd) errand(takes, patience time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	wanted := make(chan struct{})
	time.AfterFunc(patience, func() { close(wanted) })
	w.tasks.Go(func() {
		defer cancel()
		for {
			_, err := w.pl.runOnce(ctx, ctx, Spec{Dir: w.dir}, Errand{Wanted: wanted}, quietPeriod,
				func(ctx context.Context, _ *Process) (Reply, error) {
					select {
					case <-ctx.Done():
						return Reply{}, context.Cause(ctx)
					case <-time.After(takes):
						return Reply{}, nil
					}
				})
			if !errors.Is(err, errPreempted) {
				return
			}
		}
	})
}

// check looks at the table when everybody waits for something.
func (w *crowd) check() {
	synctest.Wait()
	w.pl.mu.Lock()
	defer w.pl.mu.Unlock()
	owners, turns := map[string]bool{}, 0
	for _, e := range w.pl.table {
		if owners[e.owner] && e.owner != "" {
			w.Fatalf("%s has two processes", e.owner)
		}
		owners[e.owner] = true
		if e.state == serving {
			turns++
		}
	}
	l := w.pl.limits
	if turns > w.pl.turns || w.pl.turns > l.Turns || w.pl.slots() > l.Processes || w.pl.starts() > w.pl.cores {
		w.Fatalf("%d turns with %d slots, %d processes, %d starts, %+v", turns, w.pl.turns, w.pl.slots(), w.pl.starts(), l)
	}
	for _, waits := range w.pl.queue {
		if waits.placed != nil && w.pl.turns < l.Turns || waits.slot && w.pl.slots() < l.Processes && !w.pl.suspended {
			w.Fatal("somebody waits for what is free")
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.IsSorted(w.served) {
		w.Fatalf("served in this order: %v", w.served)
	}
}

// Whatever the chats do: the limits hold, no chat has two processes, no two processes have the same session, nobody waits
// for what is free, those who wait are served in order, and all of them in the end.
func TestThePoolInAnyOrder(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) { rapid.SyncTest(t, func(t *rapid.T) { inAnyOrder(t, dir) }) })
}

func inAnyOrder(t *rapid.T, dir string) {
	free := rapid.SampledFrom([]int64{gb / 2, 2 * gb, 5 * gb / 2, 15 * gb})
	m := new(changingMachine)
	m.leave(free.Draw(t, "free memory"))
	w := newCrowd(t, dir, Config{
		Machine: m, MaxTurns: workspace.AutoCount(rapid.IntRange(0, 3).Draw(t, "turns")),
		MaxProcesses: workspace.AutoCount(rapid.IntRange(0, 4).Draw(t, "processes")),
		KeepAlive: rapid.SampledFrom(
			[]workspace.KeepAlive{workspace.AutoKeepAlive, {}, {Duration: time.Minute}}).Draw(t, "kept"),
		Spare: rapid.IntRange(0, 2).Draw(t, "spare ones"), TaskLimit: configtype.Duration{Duration: time.Hour},
	})
	w.pl.cores = rapid.IntRange(1, 2).Draw(t, "cores")
	t.Cleanup(func() { // after a failure as well: nothing may be left
		w.pl.Close()
		w.mu.Lock()
		for _, stop := range w.stop {
			stop()
		}
		w.mu.Unlock()
		w.tasks.Wait()
		synctest.Wait()
	})
	chats := []string{"a", "b", "c", "d", "e"}
	for range rapid.IntRange(1, 60).Draw(t, "steps") {
		chat := rapid.SampledFrom(chats).Draw(t, "chat")
		mode := rapid.SampledFrom([]string{"plan", "default"}).Draw(t, "mode")
		w.act(chat, mode, m, free)
		w.check()
	}
	for range 100 { // all turns end, and those that wait are served
		for _, chat := range chats {
			w.release(chat)
		}
		time.Sleep(time.Minute)
		w.check()
	}
	if s := w.pl.Stats(); len(w.stop) > 0 || s.Waiting > 0 || s.Yielded > 0 || w.pl.turns != 0 {
		t.Fatalf("%d turns are forgotten, %d slots are taken: %+v", len(w.stop), w.pl.turns, s)
	}
}

// act does one of the things that may happen.
func (w *crowd) act(chat, mode string, m *changingMachine, free *rapid.Generator[int64]) {
	switch what := rapid.SampledFrom([]string{
		"ask", "ask", "release", "yield", "stop", "ahead", "expect", "take", "drop", "fit", "errand", "login", "memory", "suspend",
		"wait", "wait",
	}).Draw(w.T, "what"); what {
	case "ask":
		w.ask(chat, mode)
	case "release":
		w.release(chat)
	case "yield":
		if p := w.held[chat]; p != nil {
			w.pl.Yield(p)
		}
	case "stop":
		if w.stop[chat] != nil && w.held[chat] == nil {
			w.stop[chat]()
		}
	case "ahead":
		w.tasks.Go(func() { _ = w.pl.StartAhead(context.Background(), chat, w.spec(chat, mode)) })
	case "expect":
		if err := w.pl.Expect(w.spec("", mode)); err != nil {
			w.Fatal(err)
		}
	case "take":
		bound := rapid.SampledFrom([]error{nil, errWanted}).Draw(w.T, "bound")
		w.tasks.Go(func() {
			_ = w.pl.TakeSpare(chat, w.spec(chat, mode), func(string) (bool, error) {
				time.Sleep(time.Millisecond)
				return mode == "plan", bound
			})
		})
	case "drop":
		w.pl.Drop(chat)
	case "fit":
		w.tasks.Go(func() { _ = w.pl.DropUnfit(chat, w.spec(chat, mode)) })
	case "errand":
		w.errand(rapid.SampledFrom([]time.Duration{time.Second, time.Minute}).Draw(w.T, "takes"),
			rapid.SampledFrom([]time.Duration{time.Second, time.Minute}).Draw(w.T, "patience"))
	case "login":
		w.pl.noteLogin()
	case "suspend":
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.suspends {
			return
		}
		w.suspends = true
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		w.tasks.Go(func() {
			defer cancel()
			w.pl.Suspend(ctx)
			for range 2 {
				w.pl.mu.Lock()
				if n := w.pl.count(func(e *entry) bool { return e.p != nil }); n > 0 {
					w.Errorf("a suspended pool has %d processes", n)
				}
				w.pl.mu.Unlock()
				time.Sleep(time.Second)
			}
			w.pl.Resume()
			w.mu.Lock()
			defer w.mu.Unlock()
			w.suspends = false
		})
	case "memory":
		m.leave(free.Draw(w.T, "free memory"))
	case "wait":
		time.Sleep(rapid.SampledFrom([]time.Duration{
			time.Millisecond, 50 * time.Millisecond, time.Second, 5 * time.Second, time.Minute,
		}).Draw(w.T, "for"))
	default:
		panic(what)
	}
}
