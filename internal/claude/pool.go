package claude

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// Pool keeps the processes of all chats: one per chat at most, and never more than the configured number.
// A chat's process waits for the next message for a while; when others need its place it goes.
type Pool struct {
	cfg   Config
	slots *semaphore.Weighted // one per running turn; first come, first served
	tasks sync.WaitGroup      // processes on their way out

	mu      sync.Mutex
	running int
	idle    []*idle             // the one that has waited longest first
	leaving map[string]*Process // by owner: given back, and on its way out
	closed  bool
}

// idle is a process that waits for its chat's next message.
type idle struct {
	owner string
	p     *Process
	timer *time.Timer
}

// ErrClosed says that the pool has been closed.
var ErrClosed = errors.New("claude: pool closed")

// NewPool makes a pool. It starts nothing.
func NewPool(c Config) *Pool {
	return &Pool{cfg: c, slots: semaphore.NewWeighted(int64(c.MaxProcesses)), leaving: map[string]*Process{}}
}

// Living reports whether owner has a process that waits and holds the session.
func (pl *Pool) Living(owner, session string) bool {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	return slices.ContainsFunc(pl.idle, func(i *idle) bool {
		return i.owner == owner && i.p.spec.Session == session && i.p.alive()
	})
}

// Acquire returns a process for one turn of owner: the one that waits, if it is as spec wants it, else a new one. It
// waits for a free place. A session to resume that is not there any more is a [LostError], found before a start is paid for.
// The caller must Release the process.
func (pl *Pool) Acquire(ctx context.Context, owner string, spec Spec) (*Process, error) {
	dir, err := realDir(spec.Dir)
	if err != nil {
		return nil, err
	}
	spec.Dir = dir
	if err := pl.slots.Acquire(ctx, 1); err != nil {
		return nil, context.Cause(ctx)
	}
	p, err := pl.acquire(ctx, owner, spec)
	if err != nil {
		pl.slots.Release(1)
		return nil, err
	}
	return p, nil
}

func (pl *Pool) acquire(ctx context.Context, owner string, spec Spec) (*Process, error) {
	p, unfit, err := pl.take(owner, spec)
	for _, old := range unfit {
		old.close(ctx) // waited for: never more processes than allowed, never two on one session
	}
	if err != nil || p != nil {
		return p, err
	}
	if spec.Resume {
		err = pl.cfg.checkTranscript(spec.Dir, spec.Session)
	}
	if err == nil {
		p, err = start(pl.cfg, spec)
	}
	if err != nil {
		pl.mu.Lock()
		pl.running--
		pl.mu.Unlock()
	}
	return p, err
}

// take counts a new running turn and finds its process, if one waits. The processes that it returns beside must be closed:
// owner's own that does not fit, and idle ones that have to make room.
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
	if i := slices.IndexFunc(pl.idle, func(i *idle) bool { return i.owner == owner }); i >= 0 {
		own := pl.remove(i)
		if own.alive() && own.spec.Session == spec.Session && own.spec.Dir == spec.Dir && own.spec.Mode == spec.Mode {
			return own, nil, nil
		}
		unfit = append(unfit, own)
	}
	for pl.running+len(pl.idle) > pl.cfg.MaxProcesses && len(pl.idle) > 0 {
		unfit = append(unfit, pl.remove(0))
	}
	return nil, unfit, nil
}

// remove takes the i-th idle process out of the list. The caller holds mu, and owns the process from now on.
func (pl *Pool) remove(i int) *Process {
	it := pl.idle[i]
	it.timer.Stop()
	pl.idle = slices.Delete(pl.idle, i, i+1)
	return it.p
}

// Release gives a process back after its turn. It waits for the chat's next message, or ends.
func (pl *Pool) Release(owner string, p *Process) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	if !pl.closed && p.alive() && pl.cfg.KeepAlive.Duration > 0 {
		pl.running--
		it := &idle{owner: owner, p: p}
		it.timer = time.AfterFunc(pl.cfg.KeepAlive.Duration, func() { pl.expire(it) })
		pl.idle = append(pl.idle, it)
		pl.slots.Release(1)
		return
	}
	pl.leaving[owner] = p
	pl.tasks.Go(func() { // the turn is over; its user need not wait for the process to go
		p.close(context.Background())
		pl.mu.Lock()
		if pl.leaving[owner] == p {
			delete(pl.leaving, owner)
		}
		pl.running--
		pl.mu.Unlock()
		pl.slots.Release(1)
	})
}

func (pl *Pool) expire(it *idle) {
	pl.mu.Lock()
	i := slices.Index(pl.idle, it)
	if i < 0 || pl.closed {
		pl.mu.Unlock()
		return
	}
	pl.remove(i)
	pl.tasks.Add(1)
	pl.mu.Unlock()
	defer pl.tasks.Done()
	pl.retire(it.p)
}

// retire ends a process that nobody uses. It counts as one until it is gone; since it was idle, there is a slot for it.
func (pl *Pool) retire(p *Process) {
	if pl.slots.TryAcquire(1) {
		defer pl.slots.Release(1)
	}
	p.close(context.Background())
}

// Drop ends owner's waiting process, if there is one: its chat starts anew.
func (pl *Pool) Drop(owner string) {
	pl.mu.Lock()
	var p *Process
	if i := slices.IndexFunc(pl.idle, func(i *idle) bool { return i.owner == owner }); i >= 0 {
		p = pl.remove(i)
	}
	pl.mu.Unlock()
	if p != nil {
		pl.retire(p)
	}
}

// Close ends all waiting processes and waits until those that were given back are gone. Turns must have ended.
func (pl *Pool) Close() {
	pl.mu.Lock()
	pl.closed = true
	var all []*Process
	for len(pl.idle) > 0 {
		all = append(all, pl.remove(0))
	}
	pl.mu.Unlock()
	for _, p := range all {
		pl.tasks.Go(func() { pl.retire(p) })
	}
	pl.tasks.Wait()
}
