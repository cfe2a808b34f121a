package claude

import (
	"context"
	"time"
)

// makeRoom gets owner a place for a new process. When there is none, the process that is used least ends, and passes
// its place on: owner's own if one waits, which is not needed beside the new one.
func (pl *Pool) makeRoom(ctx context.Context, owner string) error {
	if pl.slots.processes.TryAcquire(1) {
		if !pl.limits.tight(1) {
			return nil
		}
		return pl.await(ctx, pl.evict(owner, false))
	}
	if gone := pl.evict(owner, true); gone != nil {
		if pl.limits.machine != nil && !pl.limits.tight(1) {
			return nil // there is memory for both, until the old one is gone
		}
		return pl.await(ctx, gone)
	}
	// All processes serve turns, of which there are fewer than slots, or are on their way out, or are asked something.
	pl.questions.giveWay()
	if err := pl.slots.processes.Acquire(ctx, 1); err != nil {
		return context.Cause(ctx)
	}
	return nil
}

// await waits for the end of a process, nil = none, for who has a place.
func (pl *Pool) await(ctx context.Context, gone <-chan struct{}) error {
	if gone == nil {
		return nil
	}
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		pl.slots.processes.Release(1)
		return context.Cause(ctx)
	}
}

// evict sends away the process that is used least; nil = none waits. With pass its place is the caller's from now on.
func (pl *Pool) evict(owner string, pass bool) (gone <-chan struct{}) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	i := pl.idle.of(owner)
	if i < 0 {
		i = pl.idle.oldest(time.Now())
	}
	if i < 0 {
		return nil
	}
	if pass {
		pl.idle[i].p.held.place = false
	}
	return pl.retireIdle(i)
}

// vacate gives the place of a process back, if it has one. The caller holds mu.
func (pl *Pool) vacate(p *Process) {
	if p.held.place {
		p.held.place = false
		pl.slots.processes.Release(1)
	}
}

// startLimit is how long a process that says nothing holds up the start of others.
const startLimit = 15 * time.Second

// start starts a process in a place that the caller has for it, if the pool is not closed by then. As many start at the
// same time as there are cores: more would only make all of them slow.
func (pl *Pool) start(ctx context.Context, owner string, spec Spec) (p *Process, err error) {
	if err := pl.slots.starts.Acquire(ctx, 1); err != nil {
		pl.slots.processes.Release(1)
		return nil, context.Cause(ctx)
	}
	c, err := pl.cfg.of(owner)
	if err == nil {
		p, err = start(c, spec)
	}
	if err != nil {
		pl.slots.starts.Release(1)
		pl.slots.processes.Release(1)
		return nil, err
	}
	pl.mu.Lock()
	pl.count.Started++
	p.held.place = true
	closed := pl.closed
	if !closed {
		pl.living[p] = true
		pl.tasks.Go(func() { pl.begun(p) })
	}
	pl.mu.Unlock()
	if closed {
		pl.slots.starts.Release(1)
		pl.end(ctx, p)
		return nil, ErrClosed
	}
	return p, nil
}

// begun lets another process start once this one has.
func (pl *Pool) begun(p *Process) {
	defer pl.slots.starts.Release(1)
	t := time.NewTimer(startLimit)
	defer t.Stop()
	select {
	case <-p.out.ready:
	case <-p.child.Exited():
	case <-t.C:
	}
}

// end ends a process and waits until it is gone.
func (pl *Pool) end(ctx context.Context, p *Process) {
	p.close(ctx)
	pl.mu.Lock()
	defer pl.mu.Unlock()
	delete(pl.living, p)
	pl.vacate(p)
}
