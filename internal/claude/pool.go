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

// Pool keeps the processes of all chats: one per chat at most, and never more than there may be. A chat's process waits
// for the next message for a while; when others need its place it goes.
type Pool struct {
	cfg       Config
	limits    Limits
	slots     *slots
	questions *backgroundTasks
	tasks     sync.WaitGroup // processes on their way in or out

	mu      sync.Mutex
	count   PoolStats         // but for what is counted elsewhere
	living  map[*Process]bool // processes that have not been ended
	idle    idleProcesses
	leaving map[string]*Process // by owner: on its way out
	closed  bool
}

// PoolStats counts what a pool has and had to do.
type PoolStats struct {
	Running int // processes that serve a turn or are on their way out
	Idle    int // processes that wait for their chat's next message
	Waiting int // turns that wait for a place
	Resting int // processes that have given their place away; see [Pool.Rest]
	Started int // processes since the pool was made
}

// Stats counts what there is now.
func (pl *Pool) Stats() PoolStats {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	s := pl.count
	s.Idle, s.Waiting = len(pl.idle), pl.slots.waiting()
	return s
}

// ErrClosed says that the pool has been closed.
var ErrClosed = errors.New("claude: pool closed")

// NewPool makes a pool. It starts nothing.
func NewPool(c Config) *Pool {
	l := c.Limits()
	return &Pool{
		cfg: c, limits: l, slots: newSlots(l, runtime.GOMAXPROCS(0)), questions: newBackgroundTasks(l),
		living: map[*Process]bool{}, leaving: map[string]*Process{},
	}
}

// Config is the configuration of the pool's processes.
func (pl *Pool) Config() Config { return pl.cfg }

// Limits are how many turns and processes there may be.
func (pl *Pool) Limits() Limits { return pl.limits }

// Living reports whether owner has a process that waits and holds the session.
func (pl *Pool) Living(owner, session string) bool {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	i := pl.idle.of(owner)
	return i >= 0 && pl.idle[i].p.spec.Session == session && pl.idle[i].p.alive()
}

// Acquire returns a process for one turn of owner: the one that waits, if it is as spec wants it, else a new one. It
// waits for a free place. A session to resume that is not there any more, or not what it was, is a [LostError], found
// before a start is paid for. The caller must Release the process.
func (pl *Pool) Acquire(ctx context.Context, owner string, spec Spec) (*Process, error) {
	dir, err := realDir(spec.Dir)
	if err != nil {
		return nil, err
	}
	spec.Dir = dir
	spoke := time.Now()
	pl.hear(owner, spoke)
	if err := pl.slots.take(ctx); err != nil {
		return nil, err
	}
	pl.questions.stir()
	p, err := pl.acquire(ctx, owner, spec)
	if err != nil {
		pl.slots.leave()
		return nil, err
	}
	pl.mu.Lock()
	defer pl.mu.Unlock()
	p.held.spoke = spoke
	return p, nil
}

// hear notes that owner's chat has spoken: its process is one of the last to make room for others.
func (pl *Pool) hear(owner string, now time.Time) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	if i := pl.idle.of(owner); i >= 0 {
		pl.idle[i].p.held.spoke = now
	}
}

func (pl *Pool) acquire(ctx context.Context, owner string, spec Spec) (*Process, error) {
	p, unfit, err := pl.take(owner, spec)
	for _, old := range unfit {
		pl.end(ctx, old) // waited for: never two on one session
	}
	if err != nil || p != nil {
		return p, err
	}
	var syncState SyncState
	if spec.Resume { // no sooner: a process on its way out still writes its transcript
		syncState, err = pl.cfg.Transcripts(owner).Verify(spec.Dir, spec.Session, spec.prompts())
	}
	spec.Known = nil // the process may outlive by far whoever asked for it
	if err == nil {
		err = pl.makeRoom(ctx, owner)
	}
	if err == nil {
		p, err = pl.start(ctx, owner, spec)
	}
	if err == nil {
		p.syncState = syncState
	}
	if err != nil {
		pl.run(-1)
	}
	return p, err
}

// run counts processes that run.
func (pl *Pool) run(more int) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	pl.count.Running += more
}

// take counts a new running turn and finds its process, if one waits. The processes that it returns beside are owner's
// own that do not fit or are leaving: they must be gone before another is started.
func (pl *Pool) take(owner string, spec Spec) (p *Process, unfit []*Process, err error) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	if pl.closed {
		return nil, nil, ErrClosed
	}
	pl.count.Running++
	if old := pl.leaving[owner]; old != nil {
		unfit = append(unfit, old)
	}
	if i := pl.idle.of(owner); i >= 0 {
		own := pl.idle.remove(i)
		if own.fits(spec) {
			return own, nil, nil
		}
		unfit = append(unfit, own)
	}
	return nil, unfit, nil
}

// Rest gives the slots of a process whose turn waits for people to others: that may take long, and costs nothing but
// memory. The turn goes on without them, since whoever has answered does not want to wait. So that the memory is
// bounded, no more turns rest than may run; the others keep theirs.
func (pl *Pool) Rest(p *Process) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	if p.held.resting || pl.count.Resting >= pl.limits.Turns {
		return
	}
	p.held.resting = true
	pl.count.Resting++
	pl.count.Running--
	pl.vacate(p)
	pl.slots.leave()
}

// Release gives a process back after its turn. It waits for the chat's next message, or ends.
func (pl *Pool) Release(owner string, p *Process) {
	p.out.begun() // whatever it was doing, it does not hold others up
	pl.questions.stir()
	tight := pl.limits.tight(0)
	pl.mu.Lock()
	defer pl.mu.Unlock()
	if p.held.resting {
		p.held.resting = false
		p.held.place = pl.slots.processes.TryAcquire(1) // else it goes
		pl.count.Resting--
		pl.count.Running++
	} else {
		pl.slots.leave()
	}
	if pl.closed { // Close ends the process
		pl.count.Running--
		return
	}
	if !p.alive() || !p.reusable() || pl.cfg.KeepAlive.Duration == 0 || !p.held.place {
		pl.retire(owner, p) // the turn is over; its user need not wait for the process to go
		return
	}
	pl.count.Running--
	pl.keep(owner, p)
	if tight {
		pl.retireIdle(pl.idle.oldest(time.Now()))
	}
}

// keep lets a process wait for its chat's next message. The caller holds mu.
func (pl *Pool) keep(owner string, p *Process) {
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

// retireIdle sends the i-th idle process away. The caller holds mu.
func (pl *Pool) retireIdle(i int) (gone <-chan struct{}) {
	owner := pl.idle[i].owner
	p := pl.idle.remove(i)
	pl.count.Running++
	return pl.retire(owner, p)
}

// retire sends a process away. Until it is gone it counts as running, and its owner's next one waits for it. The caller
// holds mu.
func (pl *Pool) retire(owner string, p *Process) (gone <-chan struct{}) {
	pl.leaving[owner] = p
	done := make(chan struct{})
	pl.tasks.Go(func() {
		defer close(done)
		pl.end(context.Background(), p)
		pl.mu.Lock()
		defer pl.mu.Unlock()
		pl.count.Running--
		if pl.leaving[owner] == p {
			delete(pl.leaving, owner)
		}
	})
	return done
}

// Drop ends owner's waiting process, if there is one: its chat starts anew.
func (pl *Pool) Drop(owner string) {
	pl.mu.Lock()
	i := pl.idle.of(owner)
	if i < 0 {
		pl.mu.Unlock()
		return
	}
	gone := pl.retireIdle(i)
	pl.mu.Unlock()
	<-gone
}

// Close ends all processes, with all that they have started, and returns when they are gone, after three seconds at
// most. A turn that has not ended is cut off.
func (pl *Pool) Close() {
	pl.mu.Lock()
	pl.closed = true
	for len(pl.idle) > 0 {
		pl.idle.remove(0)
	}
	for p := range pl.living {
		pl.tasks.Go(func() { pl.end(context.Background(), p) })
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
