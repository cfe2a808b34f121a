package claude

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// Pool keeps the processes of all chats: one per chat at most, and never more than the configured number.
// A chat's process waits for the next message for a while; when others need its place it goes.
type Pool struct {
	cfg    Config
	places *places
	tasks  sync.WaitGroup // processes on their way out

	mu      sync.Mutex
	running int               // turns, and processes on their way out
	resting int               // turns that have given their place away
	started int               // processes, in all
	living  map[*Process]bool // processes that have not been ended
	idle    bench
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
	return PoolStats{Running: pl.running, Idle: len(pl.idle), Waiting: pl.places.waiting(), Resting: pl.resting, Started: pl.started}
}

// ErrClosed says that the pool has been closed.
var ErrClosed = errors.New("claude: pool closed")

// NewPool makes a pool. It starts nothing.
func NewPool(c Config) *Pool {
	return &Pool{cfg: c, places: newPlaces(c.MaxProcesses), living: map[*Process]bool{}, leaving: map[string]*Process{}}
}

// Config is the configuration of the pool's processes.
func (pl *Pool) Config() Config { return pl.cfg }

// Places is how many processes there may be.
func (pl *Pool) Places() int { return pl.cfg.MaxProcesses }

// Living reports whether owner has a process that waits and holds the session.
func (pl *Pool) Living(owner, session string) bool {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	i := pl.idle.of(owner)
	return i >= 0 && pl.idle[i].p.spec.Session == session && pl.idle[i].p.alive()
}

// Acquire returns a process for one turn of owner: the one that waits, if it is as spec wants it, else a new one. It
// waits for a free place. A session to resume that is not there any more, or not what it was, is a [LostError], found before
// a start is paid for.
// The caller must Release the process.
func (pl *Pool) Acquire(ctx context.Context, owner string, spec Spec) (*Process, error) {
	dir, err := realDir(spec.Dir)
	if err != nil {
		return nil, err
	}
	spec.Dir = dir
	if err := pl.places.take(ctx); err != nil {
		return nil, err
	}
	p, err := pl.acquire(ctx, owner, spec)
	if err != nil {
		pl.places.leave()
		return nil, err
	}
	return p, nil
}

func (pl *Pool) acquire(ctx context.Context, owner string, spec Spec) (*Process, error) {
	p, unfit, err := pl.take(owner, spec)
	for _, old := range unfit {
		pl.end(ctx, old) // waited for: never more processes than allowed, never two on one session
	}
	if err != nil || p != nil {
		return p, err
	}
	var standing Standing
	if spec.Resume { // no sooner: a process on its way out still writes its transcript
		standing, err = pl.cfg.Transcripts(owner).Verify(spec.Dir, spec.Session, spec.prompts())
	}
	spec.Known = nil // the process may outlive by far whoever asked for it
	if err == nil {
		p, err = pl.start(ctx, owner, spec)
	}
	if err == nil {
		p.standing = standing
	}
	if err != nil {
		pl.mu.Lock()
		pl.running--
		pl.mu.Unlock()
	}
	return p, err
}

// start starts a process, if the pool is not closed by then.
func (pl *Pool) start(ctx context.Context, owner string, spec Spec) (*Process, error) {
	c, err := pl.cfg.of(owner)
	if err != nil {
		return nil, err
	}
	p, err := start(c, spec)
	if err != nil {
		return nil, err
	}
	pl.mu.Lock()
	pl.started++
	closed := pl.closed
	if !closed {
		pl.living[p] = true
	}
	pl.mu.Unlock()
	if closed {
		p.close(ctx)
		return nil, ErrClosed
	}
	return p, nil
}

// end ends a process and waits until it is gone.
func (pl *Pool) end(ctx context.Context, p *Process) {
	p.close(ctx)
	pl.mu.Lock()
	defer pl.mu.Unlock()
	delete(pl.living, p)
}

// take counts a new running turn and finds its process, if one waits. The processes that it returns beside must be gone
// before another is started: owner's own that does not fit or is leaving, and those that have to make room.
func (pl *Pool) take(owner string, spec Spec) (p *Process, unfit []*Process, err error) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	if pl.closed {
		return nil, nil, ErrClosed
	}
	pl.running++
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
	over := pl.running + len(pl.idle) - pl.cfg.MaxProcesses
	for ; over > 0 && len(pl.idle) > 0; over-- {
		unfit = append(unfit, pl.idle.remove(0))
	}
	if over > 0 { // one that left without a place of its own is still on its way
		unfit = slices.AppendSeq(unfit, maps.Values(pl.leaving))
	}
	return nil, unfit, nil
}

// Rest gives the place of a process whose turn waits for people to others: that may take long, and costs nothing but
// memory. The turn goes on without a place, since whoever has answered does not want to wait. So that the memory is
// bounded, no more turns rest than there are places; the others keep theirs.
func (pl *Pool) Rest(p *Process) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	if p.resting || pl.resting >= pl.cfg.MaxProcesses {
		return
	}
	p.resting = true
	pl.resting++
	pl.running--
	pl.places.leave()
}

// Release gives a process back after its turn. It waits for the chat's next message, or ends.
func (pl *Pool) Release(owner string, p *Process) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	if p.resting {
		pl.rested(owner, p)
		return
	}
	if pl.closed { // Close ends the process
		pl.running--
		pl.places.leave()
		return
	}
	if !p.alive() || !p.reusable() || pl.cfg.KeepAlive.Duration == 0 {
		pl.retire(owner, p, true) // the turn is over; its user need not wait for the process to go
		return
	}
	pl.running--
	pl.keep(owner, p)
	pl.places.leave()
}

// rested takes back a process that has no place. It waits like others if there is room for it. The caller holds mu.
func (pl *Pool) rested(owner string, p *Process) {
	p.resting = false
	pl.resting--
	switch {
	case pl.closed: // Close ends the process
	case !p.alive() || !p.reusable() || pl.cfg.KeepAlive.Duration == 0 || pl.running+len(pl.idle) >= pl.cfg.MaxProcesses:
		pl.running++
		pl.retire(owner, p, pl.places.try())
	default:
		pl.keep(owner, p)
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
func (pl *Pool) retireIdle(i int) *Process {
	owner := pl.idle[i].owner
	p := pl.idle.remove(i)
	pl.running++
	pl.retire(owner, p, pl.places.try())
	return p
}

// retire sends a process away. Until it is gone it counts as running, and its owner's next one waits for it. placed says
// whether it holds a place. The caller holds mu.
func (pl *Pool) retire(owner string, p *Process, placed bool) {
	pl.leaving[owner] = p
	pl.tasks.Go(func() {
		pl.end(context.Background(), p)
		pl.mu.Lock()
		defer pl.mu.Unlock()
		pl.running--
		if pl.leaving[owner] == p {
			delete(pl.leaving, owner)
		}
		if placed {
			pl.places.leave()
		}
	})
}

// Drop ends owner's waiting process, if there is one: its chat starts anew.
func (pl *Pool) Drop(owner string) {
	pl.mu.Lock()
	var p *Process
	if i := pl.idle.of(owner); i >= 0 {
		p = pl.retireIdle(i)
	}
	pl.mu.Unlock()
	if p != nil {
		p.close(context.Background())
	}
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
		return Sweep(ctx, pl.cfg.Instance, a.credential.Uid)
	}
	return Sweep(ctx, pl.cfg.Instance)
}
