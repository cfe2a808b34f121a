package claude

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"time"

	"magpie/internal/claude/workspace"
)

// Pool owns the processes of all chats: at most one per chat, and never more than the limits allow. After a turn a
// chat's process stays for a while for the next message; if others need its slot it is ended.
type Pool struct {
	cfg          Config
	limits       Limits
	slots        *slots
	processSlots *processSlots
	processes    *processes
	idle         *idleProcesses
	spares       *spares
	background   *backgroundTasks
	memory       *memoryWatch
	ahead        *Ahead
	*taskRunner
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
	s := pl.idle.stats()
	s.Spare, s.Waiting = pl.spares.count(), pl.slots.waiting()
	return s
}

// ErrClosed means that the pool has been closed.
var ErrClosed = errors.New("claude: pool closed")

// NewPool returns a pool. It starts no process yet.
func NewPool(c Config) *Pool {
	l := LimitsOf(c)
	s := newSlots(l, runtime.GOMAXPROCS(0))
	ps := newProcesses(c, s)
	s.started = ps.started
	idle := newIdleProcesses(c, l.Idle, ps)
	background := newBackgroundTasks(l, s)
	spares := newSpares(c, ps, background)
	memory := &memoryWatch{limits: l, spares: spares, idle: idle, period: cmp.Or(c.MemoryPeriod, memoryPeriod)}
	spares.added = memory.watch
	free := &processSlots{slots: s, limits: l, idle: idle, spares: spares, background: background}
	return &Pool{
		memory: memory, cfg: c, limits: l, slots: s, processSlots: free, processes: ps, idle: idle, spares: spares,
		background: background,
		ahead:      &Ahead{cfg: c, processes: ps, idle: idle, spares: spares, background: background, memory: memory},
		taskRunner: &taskRunner{
			user: c.User, quiet: cmp.Or(c.Quiet, quietPeriod), timeout: c.TaskLimit.Duration, slots: s,
			processSlots: free, processes: ps, background: background,
		},
	}
}

// Config is the configuration of the pool's processes.
func (pl *Pool) Config() Config { return pl.cfg }

// Ahead returns the part of the pool that starts processes before they are requested.
func (pl *Pool) Ahead() *Ahead { return pl.ahead }

// Limits are the maximum numbers of turns and processes at this moment.
func (pl *Pool) Limits() Limits { return pl.slots.currentLimits() }

// HasIdle reports whether owner has an idle process that has served a turn of this session.
func (pl *Pool) HasIdle(owner, session string) bool { return pl.idle.hasSession(owner, session) }

// Acquire returns a process for one turn of owner: the idle one if it fits spec, otherwise a new one. It waits for a
// free slot. If the session to resume is missing or has changed, it returns a [transcript.LostError] before it pays for a start.
// The caller must Release the process.
func (pl *Pool) Acquire(ctx context.Context, owner string, spec Spec) (*Process, error) {
	dir, err := workspace.RealDir(spec.Dir)
	if err != nil {
		return nil, err
	}
	spec.Dir = dir
	spoke := time.Now()
	pl.idle.noteActivity(owner, spoke)
	if err := pl.ahead.acquireTurn(ctx, pl.slots, owner, spec); err != nil {
		return nil, err
	}
	spec.Queued = nil // like Known
	pl.background.noteActivity()
	p, err := pl.acquire(ctx, owner, spec)
	if err != nil {
		pl.slots.releaseTurn()
		return nil, err
	}
	p.lastActive = spoke
	return p, nil
}

func (pl *Pool) acquire(ctx context.Context, owner string, spec Spec) (*Process, error) {
	p, unfit, err := pl.idle.reuse(ctx, owner, spec)
	for _, old := range unfit {
		pl.processes.terminate(ctx, old) // synchronously: two processes must never use one session
	}
	if err != nil || p != nil {
		return p, err
	}
	p, err = verifyAndStart(pl.cfg, owner, spec, func() (*Process, error) {
		if err := pl.processSlots.acquire(ctx, owner); err != nil {
			return nil, err
		}
		return pl.processes.start(ctx, owner, spec)
	})
	if err != nil {
		pl.idle.removeFailedTurn(owner)
	}
	return p, err
}

// Yield returns the slots of a process whose turn waits for people, which may take long and only costs memory. The turn
// later continues without slots, since the person who has answered does not want to wait. To limit the memory, no more
// turns may yield than may run; the others keep their slots.
func (pl *Pool) Yield(p *Process) {
	if pl.processes.yield(p, pl.Limits().Turns) {
		pl.slots.releaseTurn()
	}
}

// Release returns a process after its turn. It becomes idle, or ends.
func (pl *Pool) Release(owner string, p *Process) {
	p.out.markReady() // whatever it did, it must not delay the start of others
	pl.background.noteActivity()
	p.sendName()
	// The turn's slot is released last, so that the next turn finds the process among the idle ones.
	if yielded := pl.idle.returnProcess(owner, p, pl.limits.memoryScarce()); !yielded {
		pl.slots.releaseTurn()
	}
	pl.spares.fill()
	pl.memory.watch()
}

// AcquireWoken is [Pool.Acquire] for the turn that owner's agent started by itself, which the caller reads with
// [Process.Follow]. The process is nil if there is no such turn any more.
func (pl *Pool) AcquireWoken(ctx context.Context, owner string) (*Process, error) {
	if err := pl.slots.acquireTurn(ctx, nil); err != nil {
		return nil, err
	}
	pl.background.noteActivity()
	p := pl.idle.reuseWoken(owner)
	if p == nil {
		pl.slots.releaseTurn()
	}
	return p, nil
}

// UnaskedState is what owner's process is doing between turns.
func (pl *Pool) UnaskedState(owner string) UnaskedState { return pl.idle.unaskedState(owner) }

// DropUnfit ends owner's idle process if it does not fit the spec of the next turn, and waits for its end. A process
// with unasked work stays until that turn comes.
func (pl *Pool) DropUnfit(owner string, spec Spec) error {
	dir, err := workspace.RealDir(spec.Dir)
	if err != nil {
		return err
	}
	spec.Dir = dir
	<-pl.idle.drop(owner, EndReplaced, func(p *Process) bool { return !p.Unasked().IsBusy() && !p.fits(spec) })
	return nil
}

// Drop ends owner's idle process, if any, because its chat starts a new session. It does not wait; gone is closed when
// the process has ended.
func (pl *Pool) Drop(owner string) (gone <-chan struct{}) {
	return pl.idle.drop(owner, EndReplaced, anyProcess)
}

// Stop is Drop, because a user wants to stop what the process does unasked.
func (pl *Pool) Stop(owner string) (gone <-chan struct{}) {
	return pl.idle.drop(owner, EndStopped, anyProcess)
}

// Unasked is what owner's process does between turns; nil = it has none, or a turn is running.
func (pl *Pool) Unasked(owner string) *UnaskedWork { return pl.idle.workOf(owner) }

// StopFor ends what owner's process does for someone; see [UnaskedWork.StartFor]. The process itself goes on only if a
// turn is running, or if it works for others.
func (pl *Pool) StopFor(owner, someone string) {
	// The process first, so that its watcher is notified of what it cuts off.
	pl.idle.drop(owner, EndStopped, func(p *Process) bool { return len(p.Unasked().OthersThan(someone)) == 0 })
	pl.StopTasks(someone)
}

// StopTasks ends what runs in the background for someone. The process goes on.
func (pl *Pool) StopTasks(someone string) { pl.processes.stopFor(someone) }

// Close ends all processes with their descendants, and returns when they have ended, after three seconds at most. A
// running turn is cut off.
func (pl *Pool) Close() {
	pl.idle.close()
	pl.memory.stop()
	pl.spares.stop()
	pl.spares.retireAll()
	pl.processes.close()
	pl.idle.tasks.Wait()
	pl.spares.close()
}

// SweepSessions deletes what the CLI has stored of sessions before a time, above all their transcripts, and returns the
// number of files. A session of a process of the pool stays whole, and so does one that may still be used, as inUse
// reports. The CLI itself never deletes anything, since its settings say that transcripts are kept.
func SweepSessions(ctx context.Context, pl *Pool, before time.Time, inUse func(session string) bool) (int, error) {
	return workspace.SweepSessions(ctx, pl.cfg, before, func(session string) bool {
		return inUse(session) || pl.processes.ofSession(session) != nil
	})
}
