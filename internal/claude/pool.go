package claude

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"magpie/internal/claude/workspace"
	"magpie/internal/failpoint"
)

// Pool owns the processes of all chats: at most one per chat, and never more than the limits allow. After a turn a
// chat's process stays for a while for the next message; if others need its slot it is ended.
type Pool struct {
	cfg          Config
	cores        int      // as many processes start at the same time: more would only slow all of them down
	machine      *machine // its memory limits new processes; nil = it does not
	monitored    *machine // its memory limits how long processes are idle; nil = it does not
	installation *installation

	begin func(*entry, Spec) (*Process, error) // starts a process, and end ends it
	end   func(*Process, context.Context)

	mu         sync.Mutex
	table      []*entry
	queue      []*waiter // first come, first served
	limits     Limits
	turns      int // with a slot
	started    int
	logins     int
	recent     []Spec      // of which there are to be spare processes: each combination once, the latest first
	lastActive time.Time   // when something last happened in any chat
	look       *time.Timer // at the memory; nil = nothing is idle
	closed     bool
	suspended  bool // nothing starts, see [Pool.Suspend]
}

// PoolStats describes a pool's processes and turns.
type PoolStats struct {
	Running int // processes that serve a turn or are ending
	Idle    int // processes that wait for their chat's next message
	Spare   int // processes started ahead that have no chat yet
	Waiting int // turns that wait for a slot
	Yielded int // processes that have returned their slots; see [Pool.Yield]
	Started int // processes started since the pool was created
}

// Stats returns the current numbers.
func (pl *Pool) Stats() PoolStats {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	s := PoolStats{Waiting: pl.turnsWaiting(), Started: pl.started}
	for _, e := range pl.table {
		switch {
		case e.state == idle:
			s.Idle++
		case e.state == spare:
			s.Spare++
		case e.state == yielded:
			s.Yielded++
		case e.state == running && e.slot, e.state == serving, e.state == ending:
			s.Running++
		}
	}
	return s
}

// ErrClosed means that the pool has been closed.
var ErrClosed = errors.New("claude: pool closed")

// NewPool returns a pool. It starts no process yet.
func NewPool(c Config) *Pool {
	l := LimitsOf(c)
	pl := &Pool{
		cfg: c, cores: runtime.GOMAXPROCS(0), machine: l.machine, monitored: l.monitored,
		installation: newInstallation(c.Command), end: (*Process).close, limits: l, lastActive: time.Now(),
	}
	pl.begin = pl.beginProcess
	return pl
}

// Config is the configuration of the pool's processes.
func (pl *Pool) Config() Config { return pl.cfg }

// Limits are the maximum numbers of turns and processes at this moment.
func (pl *Pool) Limits() Limits {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	return pl.limits
}

// HasIdle reports whether owner has an idle process that has served a turn of this session.
func (pl *Pool) HasIdle(owner, session string) bool {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	e := pl.idleOf(owner)
	return e != nil && e.p.spec.Session == session && e.p.alive() && !e.p.session.fresh
}

// Acquire returns a process for one turn of owner: the idle one if it fits spec, otherwise a new one. It waits for a
// free slot. If the session to resume is missing or has changed, it returns a [transcript.LostError] before it pays for
// a start. The caller must Release the process.
func (pl *Pool) Acquire(ctx context.Context, owner string, spec Spec) (*Process, error) {
	dir, err := workspace.RealDir(spec.Dir)
	if err != nil {
		return nil, err
	}
	spec.Dir = dir
	spoke := time.Now()
	pl.noteActivity(owner, spoke)
	placed := spec.Queued
	spec.Queued = nil // like Known
	if placed == nil {
		placed = func(int) {}
	}
	err = pl.acquireTurn(ctx, placed, func() {
		_ = pl.startEarly(ctx, owner, spec, pl.longWait(), true) // the turn meets the same error
	})
	if err != nil {
		return nil, err
	}
	e, err := pl.serve(ctx, owner, spec, spoke)
	if err != nil {
		pl.releaseTurn()
		return nil, err
	}
	return e.p, nil
}

// acquireTurn waits for the slot of a turn. placed gets the turn's place in the queue, the first being 1, whenever that
// changes, and 0 when it waits no more; it must not block. meanwhile is called if the turn has to wait.
func (pl *Pool) acquireTurn(ctx context.Context, placed func(place int), meanwhile func()) error {
	take := func() bool {
		free := pl.turns < pl.limits.Turns
		if free {
			pl.turns++
		}
		return free
	}
	var begun sync.WaitGroup
	defer begun.Wait()
	pl.mu.Lock()
	defer pl.mu.Unlock()
	if take() {
		return nil
	}
	if pl.measure(); take() {
		return nil
	}
	begun.Go(meanwhile)
	return pl.await(ctx, &waiter{ready: take, placed: placed})
}

// releaseTurn returns the slot of a turn.
func (pl *Pool) releaseTurn() {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	pl.turns--
	pl.settle()
}

// serve gets the process of a turn that has its slot.
func (pl *Pool) serve(ctx context.Context, owner string, spec Spec, spoke time.Time) (e *entry, err error) {
	pl.mu.Lock()
	err = pl.await(ctx, &waiter{ready: func() bool { e = pl.claim(owner, spec); return e != nil }})
	if err == nil {
		e.active = spoke
	}
	pl.mu.Unlock()
	if err != nil || e.p != nil {
		return e, err
	}
	return e, pl.start(ctx, e, spec, func() error { return pl.acquireRoom(ctx, e, owner) })
}

// claim is owner's idle process if it fits, or the place of a new one; nil = another one has to end first, since two must
// never use one session. The caller holds mu.
func (pl *Pool) claim(owner string, spec Spec) *entry {
	pl.lastActive = time.Now()
	e := pl.of(owner)
	switch {
	case e == nil:
		return pl.add(&entry{state: serving, owner: owner})
	case e.state != idle:
	case e.logins == pl.logins && e.p.fits(spec):
		e.use(serving)
		return e
	default:
		pl.retire(e, EndReplaced)
	}
	return nil
}

// noteActivity records activity in owner's chat, which makes its process one of the last to be ended for others.
func (pl *Pool) noteActivity(owner string, now time.Time) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	pl.lastActive = time.Now()
	if e := pl.of(owner); e != nil {
		e.active = now
	}
}

// Yield returns the slots of a process whose turn waits for people, which may take long and only costs memory. The turn
// later continues without slots, since the person who has answered does not want to wait. To limit the memory, no more
// turns may yield than may run; the others keep their slots.
func (pl *Pool) Yield(p *Process) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	e := pl.find(func(e *entry) bool { return e.p == p && e.state == serving })
	if e == nil || pl.count(func(e *entry) bool { return e.state == yielded }) >= pl.limits.Turns {
		return
	}
	e.state, e.slot = yielded, false
	pl.turns--
	pl.settle()
}

// Release returns a process after its turn. It becomes idle, or ends.
func (pl *Pool) Release(p *Process) {
	p.out.markReady() // whatever it did, it must not delay the start of others
	p.sendName()
	scarce := pl.monitored.memory().isTight(0)
	pl.mu.Lock()
	defer pl.mu.Unlock()
	pl.lastActive = time.Now()
	e := pl.find(func(e *entry) bool { return e.p == p })
	if e == nil || e.state == ending { // the turn was cut off
		return
	}
	e.core = false
	if e.state == yielded {
		pl.takeSlot(e)
	} else {
		pl.turns--
	}
	switch left := p.out.unasked.timeLeft(pl.cfg.BackgroundLimit.Duration); {
	case !p.alive() || !p.reusable() || pl.limits.Idle == 0 || !e.slot:
		pl.retire(e, EndMemory)
		pl.settle()
	default:
		pl.keep(e, idle, cmp.Or(left, pl.limits.Idle))
		if scarce {
			pl.makeRoom("")
		}
	}
	pl.fill()
}

// AcquireWoken is [Pool.Acquire] for the turn that owner's agent started by itself, which the caller reads with
// [Process.Follow]. The process is nil if there is no such turn any more.
func (pl *Pool) AcquireWoken(ctx context.Context, owner string) (*Process, error) {
	if err := pl.acquireTurn(ctx, func(int) {}, func() {}); err != nil {
		return nil, err
	}
	pl.mu.Lock()
	defer pl.mu.Unlock()
	pl.lastActive = time.Now()
	e := pl.idleOf(owner)
	if e == nil || !e.p.alive() || !e.p.Unasked().isWoken() {
		pl.turns--
		pl.settle()
		return nil, nil
	}
	e.use(serving)
	return e.p, nil
}

// UnaskedState is what owner's process is doing between turns.
func (pl *Pool) UnaskedState(owner string) UnaskedState {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	switch e := pl.of(owner); {
	case e != nil && (e.state == serving || e.state == yielded):
		return InTurn
	case e == nil || e.state != idle || e.p.Unasked().isGone():
		return NoProcess
	case e.p.Unasked().isWoken():
		return Woken
	case e.p.Unasked().IsBusy():
		return Working
	}
	return Resting
}

// Unasked is what owner's process does between turns; nil = it has none, or a turn is running.
func (pl *Pool) Unasked(owner string) *UnaskedWork {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	if e := pl.idleOf(owner); e != nil && e.p.alive() {
		return e.p.Unasked()
	}
	return nil
}

// DropUnfit ends owner's idle process if it does not fit the spec of the next turn, and waits for its end. A process
// with unasked work stays until that turn comes.
func (pl *Pool) DropUnfit(owner string, spec Spec) error {
	dir, err := workspace.RealDir(spec.Dir)
	if err != nil {
		return err
	}
	spec.Dir = dir
	<-pl.drop(owner, EndReplaced, func(p *Process) bool { return !p.Unasked().IsBusy() && !p.fits(spec) })
	return nil
}

// Drop ends owner's idle process, if any, because its chat starts a new session. It does not wait; gone is closed when
// the process has ended, also one that was to end before.
func (pl *Pool) Drop(owner string) (gone <-chan struct{}) {
	return pl.drop(owner, EndReplaced, func(*Process) bool { return true })
}

// Stop is Drop, because a user wants to stop what the process does unasked.
func (pl *Pool) Stop(owner string) (gone <-chan struct{}) {
	return pl.drop(owner, EndStopped, func(*Process) bool { return true })
}

// StopFor ends what owner's process does for someone; see [UnaskedWork.StartFor]. The process itself goes on only if a
// turn is running, or if it works for others.
func (pl *Pool) StopFor(owner, someone string) {
	// The process first, so that its watcher is notified of what it cuts off.
	pl.drop(owner, EndStopped, func(p *Process) bool { return len(p.Unasked().OthersThan(someone)) == 0 })
	pl.StopTasks(someone)
}

// drop ends owner's idle process, if it is like that.
func (pl *Pool) drop(owner string, why UnaskedEnd, like func(*Process) bool) (gone <-chan struct{}) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	e := pl.of(owner)
	if e != nil && e.state == ending {
		return e.gone
	}
	if e == nil || e.state != idle || !like(e.p) {
		none := make(chan struct{})
		close(none)
		return none
	}
	pl.retire(e, why)
	return e.gone
}

// StopTasks ends what runs in the background for someone. The process goes on.
func (pl *Pool) StopTasks(someone string) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	for _, e := range pl.table {
		if e.p != nil {
			e.p.out.unasked.stopFor(someone)
		}
	}
}

// ofSession finds the process of a session in any state; nil = none.
func (pl *Pool) ofSession(session string) *Process {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	if e := pl.find(func(e *entry) bool { return e.p != nil && e.p.spec.Session == session && e.p.alive() }); e != nil {
		return e.p
	}
	return nil
}

// Close ends all processes with their descendants, and returns when they have ended, after three seconds at most. A
// running turn is cut off.
func (pl *Pool) Close() {
	pl.mu.Lock()
	pl.closed = true
	pl.endAll(context.Background())
}

// Suspend ends all processes as [Pool.Close] does, and lets none start before [Pool.Resume]: another bridge may take over
// their chats. Turns wait meanwhile. What has not ended when ctx is done is killed.
func (pl *Pool) Suspend(ctx context.Context) {
	if failpoint.Skips("pool: suspended") {
		return
	}
	pl.mu.Lock()
	pl.suspended = true
	pl.endAll(ctx)
}

// Resume ends what [Pool.Suspend] has begun.
func (pl *Pool) Resume() {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	pl.suspended = false
	pl.settle()
}

// cutOff ends a process and the turn that it serves. It is killed when ctx is done.
func (pl *Pool) cutOff(ctx context.Context, e *entry) {
	if e.state == serving {
		pl.turns--
	}
	e.p.suspended.Store(pl.suspended)
	pl.retireWithin(ctx, e, EndClosed)
}

// endAll unlocks mu and waits until all processes have ended.
func (pl *Pool) endAll(ctx context.Context) {
	var left []*entry
	for _, e := range pl.table {
		if e.p != nil {
			pl.cutOff(ctx, e)
		}
		if e.p != nil || e.slot { // one that starts just now ends as well
			left = append(left, e)
		}
	}
	pl.settle()
	pl.mu.Unlock()
	for _, e := range left {
		<-e.gone
	}
}

// SweepSessions deletes what the CLI has stored of sessions before a time, above all their transcripts, and returns the
// number of files. A session of a process of the pool stays whole, and so does one that may still be used, as inUse
// reports. The CLI itself never deletes anything, since its settings say that transcripts are kept.
func SweepSessions(ctx context.Context, pl *Pool, before time.Time, inUse func(session string) bool) (int, error) {
	return workspace.SweepSessions(ctx, pl.cfg, before, func(session string) bool {
		return inUse(session) || pl.ofSession(session) != nil
	})
}
