package claude

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"magpie/internal/claude/proctree"
)

// Pool owns the processes of all chats: at most one per chat, and never more than the limits allow. After a turn a
// chat's process stays for a while, in case the next message comes soon; when others need its slot it is ended.
type Pool struct {
	cfg        Config
	limits     Limits
	slots      *slots
	background *backgroundTasks
	tasks      sync.WaitGroup // processes that are starting or ending

	mu        sync.Mutex
	count     PoolStats         // except what is counted elsewhere
	processes map[*Process]bool // all processes that exist
	idle      idleProcesses
	leaving   map[string]*Process // by owner: the process that is ending
	closed    bool
}

// PoolStats describes a pool's processes and turns.
type PoolStats struct {
	Running int // processes that serve a turn or are ending
	Idle    int // processes that wait for their chat's next message
	Waiting int // turns that wait for a slot
	Yielded int // processes that have returned their slots; see [Pool.Yield]
	Started int // processes started since the pool was created
}

// Stats returns the current numbers.
func (pl *Pool) Stats() PoolStats {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	s := pl.count
	s.Idle, s.Waiting = len(pl.idle), pl.slots.waiting()
	return s
}

// ErrClosed says that the pool has been closed.
var ErrClosed = errors.New("claude: pool closed")

// NewPool returns a pool. It starts no process yet.
func NewPool(c Config) *Pool {
	l := c.Limits()
	return &Pool{
		cfg: c, limits: l, slots: newSlots(l, runtime.GOMAXPROCS(0)), background: newBackgroundTasks(l),
		processes: map[*Process]bool{}, leaving: map[string]*Process{},
	}
}

// Config is the configuration of the pool's processes.
func (pl *Pool) Config() Config { return pl.cfg }

// Limits are the maximum numbers of turns and processes.
func (pl *Pool) Limits() Limits { return pl.limits }

// HasIdle reports whether owner has an idle process with this session.
func (pl *Pool) HasIdle(owner, session string) bool {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	i := pl.idle.indexOf(owner)
	return i >= 0 && pl.idle[i].p.spec.Session == session && pl.idle[i].p.alive()
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
	pl.noteActivity(owner, spoke)
	if err := pl.slots.acquireTurn(ctx); err != nil {
		return nil, err
	}
	pl.background.noteActivity()
	p, err := pl.acquire(ctx, owner, spec)
	if err != nil {
		pl.slots.releaseTurn()
		return nil, err
	}
	pl.mu.Lock()
	defer pl.mu.Unlock()
	p.poolState.lastActive = spoke
	return p, nil
}

// noteActivity records that owner's chat is active, so that its process is among the last to be ended for others.
func (pl *Pool) noteActivity(owner string, now time.Time) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	if i := pl.idle.indexOf(owner); i >= 0 {
		pl.idle[i].p.poolState.lastActive = now
	}
}

// acquire returns a process for the owner's next turn: an idle one that fits, or a new one.
func (pl *Pool) acquire(ctx context.Context, owner string, spec Spec) (*Process, error) {
	p, unfit, err := pl.takeIdle(owner, spec)
	for _, old := range unfit {
		pl.endProcess(ctx, old) // synchronously: two processes must never use one session
	}
	if err != nil || p != nil {
		return p, err
	}
	var syncState SyncState
	if spec.Resume { // not earlier: an ending process still writes its transcript
		syncState, err = pl.cfg.Transcripts(owner).Verify(spec.Dir, spec.Session, spec.prompts())
	}
	spec.Known = nil // the process may live much longer than the caller's data
	if err == nil {
		err = pl.acquireSlot(ctx, owner)
	}
	if err == nil {
		p, err = pl.start(ctx, owner, spec)
	}
	if err == nil {
		p.syncState = syncState
	}
	if err != nil {
		pl.countRunning(-1)
	}
	return p, err
}

// countRunning changes the number of running processes.
func (pl *Pool) countRunning(more int) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	pl.count.Running += more
}

// takeIdle counts a new running turn and returns owner's idle process, if it fits. unfit are owner's processes that do
// not fit or are ending: they must have ended before another is started.
func (pl *Pool) takeIdle(owner string, spec Spec) (p *Process, unfit []*Process, err error) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	if pl.closed {
		return nil, nil, ErrClosed
	}
	pl.count.Running++
	if old := pl.leaving[owner]; old != nil {
		unfit = append(unfit, old)
	}
	if i := pl.idle.indexOf(owner); i >= 0 {
		own := pl.idle.remove(i)
		if own.fits(spec) {
			return own, nil, nil
		}
		unfit = append(unfit, own)
	}
	return nil, unfit, nil
}

// Yield returns the slots of a process whose turn waits for people: that may take long, and costs only memory. The turn
// continues without slots later, since the person who has answered does not want to wait. To bound the memory, no more
// turns may yield than may run; the others keep their slots.
func (pl *Pool) Yield(p *Process) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	if p.poolState.yielded || pl.count.Yielded >= pl.limits.Turns {
		return
	}
	p.poolState.yielded = true
	pl.count.Yielded++
	pl.count.Running--
	pl.releaseSlot(p)
	pl.slots.releaseTurn()
}

// Release returns a process after its turn. It becomes idle, or ends.
func (pl *Pool) Release(owner string, p *Process) {
	p.out.markReady() // whatever it did, it must not delay the start of others
	pl.background.noteActivity()
	tight := pl.limits.tight(0)
	pl.mu.Lock()
	defer pl.mu.Unlock()
	if p.poolState.yielded {
		p.poolState.yielded = false
		p.poolState.hasSlot = pl.slots.processes.TryAcquire(1) // without a slot it is ended below
		pl.count.Yielded--
		pl.count.Running++
	} else {
		pl.slots.releaseTurn()
	}
	if pl.closed { // Close ends the process
		pl.count.Running--
		return
	}
	if !p.alive() || !p.reusable() || pl.cfg.KeepAlive.Duration == 0 || !p.poolState.hasSlot {
		pl.retire(owner, p) // in the background: the turn is over, and nobody need wait for the process
		return
	}
	pl.count.Running--
	pl.park(owner, p)
	if tight {
		pl.retireIdle(pl.idle.leastUsed(time.Now()))
	}
}

// park makes a process idle. The caller holds mu.
func (pl *Pool) park(owner string, p *Process) {
	it := &idle{owner: owner, p: p}
	it.timer = time.AfterFunc(pl.cfg.KeepAlive.Duration, func() {
		pl.mu.Lock()
		defer pl.mu.Unlock()
		if i := slices.Index(pl.idle, it); i >= 0 {
			pl.retireIdle(i)
		}
	})
	pl.idle = append(pl.idle, it)
}

// retireIdle ends the i-th idle process. The caller holds mu.
func (pl *Pool) retireIdle(i int) (gone <-chan struct{}) {
	owner := pl.idle[i].owner
	p := pl.idle.remove(i)
	pl.count.Running++
	return pl.retire(owner, p)
}

// retire ends a process in the background. Until it has ended it counts as running, and its owner's next one waits for
// it. The caller holds mu.
func (pl *Pool) retire(owner string, p *Process) (gone <-chan struct{}) {
	pl.leaving[owner] = p
	done := make(chan struct{})
	pl.tasks.Go(func() {
		defer close(done)
		pl.endProcess(context.Background(), p)
		pl.mu.Lock()
		defer pl.mu.Unlock()
		pl.count.Running--
		if pl.leaving[owner] == p {
			delete(pl.leaving, owner)
		}
	})
	return done
}

// Drop ends owner's idle process, if there is one: its chat starts a new session.
func (pl *Pool) Drop(owner string) {
	pl.mu.Lock()
	i := pl.idle.indexOf(owner)
	if i < 0 {
		pl.mu.Unlock()
		return
	}
	gone := pl.retireIdle(i)
	pl.mu.Unlock()
	<-gone
}

// Close ends all processes, with everything that they have started, and returns when they have ended, after three
// seconds at most. A running turn is cut off.
func (pl *Pool) Close() {
	pl.mu.Lock()
	pl.closed = true
	for len(pl.idle) > 0 {
		pl.idle.remove(0)
	}
	for p := range pl.processes {
		pl.tasks.Go(func() { pl.endProcess(context.Background(), p) })
	}
	pl.mu.Unlock()
	pl.tasks.Wait()
}

// Sweep ends what an earlier run of this program has left behind; see [Sweep]. It is called before the first turn.
func (pl *Pool) Sweep(ctx context.Context) (killed int, err error) {
	a, err := pl.cfg.account()
	if err != nil {
		return 0, err
	}
	if a != nil {
		return proctree.Sweep(ctx, pl.cfg.Instance, a.credential.Uid)
	}
	return proctree.Sweep(ctx, pl.cfg.Instance)
}
