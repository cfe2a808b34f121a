package claude

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"magpie/internal/claude/proctree"
)

// Pool owns the processes of all chats: at most one per chat, and never more than the limits allow. After a turn a
// chat's process stays for a while, in case the next message comes soon; when others need its slot it is ended.
type Pool struct {
	cfg          Config
	limits       Limits
	slots        *slots
	processSlots *processSlots
	processes    *processes
	idle         *idleProcesses
	spares       *spares
	background   *backgroundTasks
	tasks        *taskRunner
	memory       *memoryWatch
}

// PoolStats describes a pool's processes and turns.
type PoolStats struct {
	Running int // processes that serve a turn or are ending
	Idle    int // processes that wait for their chat's next message
	Spare   int // processes that were started ahead and have no chat yet
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

// ErrClosed says that the pool has been closed.
var ErrClosed = errors.New("claude: pool closed")

// NewPool returns a pool. It starts no process yet.
func NewPool(c Config) *Pool {
	l := c.Limits()
	s := newSlots(l, runtime.GOMAXPROCS(0))
	ps := newProcesses(c, s)
	idle := newIdleProcesses(c, l.Idle, ps)
	background := newBackgroundTasks(l, s)
	spares := newSpares(c, ps, background)
	memory := &memoryWatch{limits: l, spares: spares, idle: idle, period: cmp.Or(c.MemoryPeriod, memoryPeriod)}
	spares.added = memory.watch
	free := &processSlots{slots: s, limits: l, idle: idle, spares: spares, background: background}
	return &Pool{
		memory: memory, cfg: c, limits: l, slots: s, processSlots: free, processes: ps, idle: idle, spares: spares,
		background: background,
		tasks: &taskRunner{
			user: c.User, quiet: cmp.Or(c.Quiet, quietPeriod), timeout: c.TaskLimit.Duration, slots: s,
			processSlots: free, processes: ps, background: background,
		},
	}
}

// Config is the configuration of the pool's processes.
func (pl *Pool) Config() Config { return pl.cfg }

// Limits are the maximum numbers of turns and processes.
func (pl *Pool) Limits() Limits { return pl.limits }

// HasIdle reports whether owner has an idle process that has served a turn of this session.
func (pl *Pool) HasIdle(owner, session string) bool { return pl.idle.has(owner, session) }

// Holds reports whether owner has a turn, or a process that waits for one or is being started for it.
func (pl *Pool) Holds(owner string) bool { return pl.idle.holds(owner) }

// Expect starts a spare process with this spec in the background, if there is room: turns are likely to ask for it.
func (pl *Pool) Expect(spec Spec) error {
	dir, err := realDir(spec.Dir)
	if err != nil {
		return err
	}
	spec.Dir = dir
	pl.spares.want(spec)
	pl.spares.fill()
	return nil
}

// TakeSpare makes a spare process that of owner, who has none, if there is one that fits spec; the next Acquire returns
// it, with a session of its own. bind stores that owner's agents keep their state in the spare process's folder, and
// reports whether they do: nobody else can have it then. If that is not known, the process ends.
func (pl *Pool) TakeSpare(owner string, spec Spec, bind func(folder string) (bool, error)) error {
	dir, err := realDir(spec.Dir)
	if err != nil {
		return err
	}
	spec.Dir = dir
	if spec.Resume {
		return nil
	}
	pl.spares.want(spec)
	if spec.Budget > 0 {
		return nil
	}
	it := pl.spares.take(spec)
	if it == nil {
		return nil
	}
	bound, err := bind(it.folder)
	if err != nil { // the folder may be owner's: it is decided at the next start of the program
		pl.processes.terminate(context.Background(), it.p)
		return err
	}
	if !bound {
		pl.spares.back(it)
		return nil
	}
	if it.p.tools.Bind != nil {
		it.p.tools.Bind(owner)
	}
	it.p.spec.Name, it.p.session.unnamed = spec.Name, spec.Name != ""
	if !pl.idle.adopt(owner, it.p, pl.idle.ahead) {
		pl.processes.terminate(context.Background(), it.p)
	}
	return pl.cfg.unmark(it.folder)
}

// Acquire returns a process for one turn of owner: the idle one if it fits spec, else a new one. It waits for a free
// slot. If the session to resume is missing or not what it was, it returns a [LostError], before it pays for a start.
// The caller must Release the process.
func (pl *Pool) Acquire(ctx context.Context, owner string, spec Spec) (*Process, error) {
	dir, err := realDir(spec.Dir)
	if err != nil {
		return nil, err
	}
	spec.Dir = dir
	spoke := time.Now()
	pl.idle.noteActivity(owner, spoke)
	if err := pl.acquireTurn(ctx, owner, spec); err != nil {
		return nil, err
	}
	pl.background.noteActivity()
	p, err := pl.acquire(ctx, owner, spec)
	if err != nil {
		pl.slots.releaseTurn()
		return nil, err
	}
	p.lastActive = spoke
	return p, nil
}

// acquireTurn waits for the slot of a turn. Meanwhile the turn's process starts, if there is room for it beside those
// of the turns that go first.
func (pl *Pool) acquireTurn(ctx context.Context, owner string, spec Spec) error {
	if pl.slots.tryAcquireTurn() {
		return nil
	}
	var start sync.WaitGroup
	start.Go(func() {
		// what keeps it from starting, the turn finds out as well
		_ = pl.startAhead(ctx, owner, spec, pl.newWait(), pl.background.tryAcquireOf)
	})
	defer start.Wait()
	return pl.slots.acquireTurn(ctx)
}

func (pl *Pool) acquire(ctx context.Context, owner string, spec Spec) (*Process, error) {
	p, unfit, err := pl.idle.take(ctx, owner, spec)
	for _, old := range unfit {
		pl.processes.terminate(ctx, old) // synchronously: two processes must never use one session
	}
	if err != nil || p != nil {
		return p, err
	}
	p, err = pl.verifyAndStart(owner, spec, func() (*Process, error) {
		if err := pl.processSlots.acquire(ctx, owner); err != nil {
			return nil, err
		}
		return pl.processes.start(ctx, owner, spec)
	})
	if err != nil {
		pl.idle.fail(owner)
	}
	return p, err
}

// StartAhead starts the process that owner's next turn is likely to ask for, so that the turn need not wait for it. It
// does nothing if owner has a process or a turn, or if there is no room, and it returns the error of [Pool.Acquire] for
// a session that cannot be resumed. The process ends if no turn comes within a minute; until then it is asked nothing
// and writes nothing, and it makes room for any turn.
func (pl *Pool) StartAhead(ctx context.Context, owner string, spec Spec) error {
	return pl.startAhead(ctx, owner, spec, pl.idle.ahead, pl.background.tryAcquireSpareOf)
}

// StartNew is [Pool.StartAhead] for the first turn of a new conversation that owner has asked for. The process waits as
// long as a spare process does, unless processes are kept for less.
func (pl *Pool) StartNew(ctx context.Context, owner string, spec Spec) error {
	return pl.startAhead(ctx, owner, spec, pl.newWait(), pl.background.tryAcquireSpareOf)
}

// newWait is how long a process waits for a turn that is more than likely.
func (pl *Pool) newWait() time.Duration { return max(pl.idle.ahead, min(spareAge, pl.idle.keepAlive)) }

// startAhead starts a process that waits for owner's turn for that long, if room gets it one of so many free slots.
func (pl *Pool) startAhead(
	ctx context.Context, owner string, spec Spec, wait time.Duration, room func(free int64) bool,
) error {
	dir, err := realDir(spec.Dir)
	if err != nil {
		return err
	}
	spec.Dir = dir
	if spec.Budget > 0 { // a process with a limit serves one turn, which begins with its start
		return nil
	}
	done, ok := pl.idle.reserve(owner)
	if !ok {
		return nil
	}
	defer done()
	p, err := pl.verifyAndStart(owner, spec, func() (*Process, error) {
		if !room(2) { // one is left for whatever is asked for next
			return nil, errNoRoom
		}
		return pl.processes.startUnasked(ctx, spec, func() (agent, error) { return pl.cfg.agentOf(owner) })
	})
	if errors.Is(err, errNoRoom) {
		return nil
	} else if err != nil {
		return err
	}
	if !pl.idle.adopt(owner, p, wait) {
		pl.processes.terminate(ctx, p)
	}
	pl.memory.watch()
	return nil
}

// errNoRoom says that a process that nobody waits for must not be started now.
var errNoRoom = errors.New("claude: no room for another process")

// verifyAndStart starts a process, unless the session to resume is not what it was.
func (pl *Pool) verifyAndStart(owner string, spec Spec, start func() (*Process, error)) (p *Process, err error) {
	var syncState SyncState
	if spec.Resume { // not earlier: an ending process still writes its transcript
		syncState, err = pl.cfg.Transcripts(owner).Verify(spec.Dir, spec.Session, spec.prompts())
	}
	spec.Known = nil // the process may live much longer than the caller's data
	if err == nil {
		p, err = start()
	}
	if err == nil {
		p.session.sync = syncState
	}
	return p, err
}

// Yield returns the slots of a process whose turn waits for people: that may take long, and costs only memory. The turn
// continues without slots later, since the person who has answered does not want to wait. To bound the memory, no more
// turns may yield than may run; the others keep their slots.
func (pl *Pool) Yield(p *Process) {
	if pl.processes.yield(p, pl.limits.Turns) {
		pl.slots.releaseTurn()
	}
}

// Release returns a process after its turn. It becomes idle, or ends.
func (pl *Pool) Release(owner string, p *Process) {
	p.out.markReady() // whatever it did, it must not delay the start of others
	pl.background.noteActivity()
	p.sendName()
	// The turn's slot is released last: whoever gets it finds the process among the idle ones.
	if yielded := pl.idle.put(owner, p, pl.limits.scarce()); !yielded {
		pl.slots.releaseTurn()
	}
	pl.spares.fill()
	pl.memory.watch()
}

// AcquireWoken is [Pool.Acquire] for the turn that owner's agent has begun by itself: the caller reads it with
// [Process.Follow]. The process is nil if there is no such turn any more.
func (pl *Pool) AcquireWoken(ctx context.Context, owner string) (*Process, error) {
	if err := pl.slots.acquireTurn(ctx); err != nil {
		return nil, err
	}
	pl.background.noteActivity()
	p := pl.idle.takeWoken(owner)
	if p == nil {
		pl.slots.releaseTurn()
	}
	return p, nil
}

// Unasked is what owner's process does between turns.
func (pl *Pool) Unasked(owner string) UnaskedState { return pl.idle.state(owner) }

// DropUnfit ends owner's idle process if the next turn, with this spec, cannot take it. It waits for the end. One that
// does something unasked stays until that turn comes.
func (pl *Pool) DropUnfit(owner string, spec Spec) error {
	dir, err := realDir(spec.Dir)
	if err != nil {
		return err
	}
	spec.Dir = dir
	pl.idle.dropIf(owner, EndReplaced, func(p *Process) bool { return !p.Unasked().IsBusy() && !p.fits(spec) })
	return nil
}

// Drop ends owner's idle process, if there is one: its chat starts a new session.
func (pl *Pool) Drop(owner string) { pl.idle.drop(owner, EndReplaced) }

// Stop ends owner's idle process, if there is one, because somebody wants what it does unasked to end.
func (pl *Pool) Stop(owner string) { pl.idle.drop(owner, EndStopped) }

// Close ends all processes, with everything that they have started, and returns when they have ended, after three
// seconds at most. A running turn is cut off.
func (pl *Pool) Close() {
	pl.idle.close()
	pl.memory.stop()
	pl.spares.stop()
	pl.spares.retireAll()
	pl.processes.close()
	pl.idle.wait()
	pl.spares.close()
}

// Sweep ends what an earlier run of this program has left behind; see [proctree.Sweep]. It is called before the first
// turn.
func (pl *Pool) Sweep(ctx context.Context) (killed int, err error) {
	a, err := findAccount(pl.cfg.User)
	if err != nil {
		return 0, err
	}
	if a != nil {
		return proctree.Sweep(ctx, pl.cfg.Instance, a.credential.Uid)
	}
	return proctree.Sweep(ctx, pl.cfg.Instance)
}
