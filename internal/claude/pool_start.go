package claude

import (
	"context"
	"time"
)

// acquireSlot gets owner a slot for a new process. If none is free, it preempts a background task for which nobody
// waits. If there is no such task, the least used idle process ends and passes its slot on; if owner has an idle
// process itself, it is that one, since the new one replaces it.
func (pl *Pool) acquireSlot(ctx context.Context, owner string) error {
	if pl.slots.processes.TryAcquire(1) {
		if !pl.limits.tight(1) {
			return nil
		}
		return pl.await(ctx, pl.evict(owner, false))
	}
	if !pl.background.preempt() {
		if gone := pl.evict(owner, true); gone != nil {
			if pl.limits.machine != nil && !pl.limits.tight(1) {
				return nil // there is memory for both until the old one has ended
			}
			return pl.await(ctx, gone)
		}
	}
	// All slots belong to other turns, which are fewer than the slots, or to processes that are ending: one gets free.
	if err := pl.slots.processes.Acquire(ctx, 1); err != nil {
		return context.Cause(ctx)
	}
	return nil
}

// await waits for the end of a process (nil = none) for a caller that holds a slot.
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

// evict ends the least used idle process; nil = there is none. With pass its slot goes to the caller.
func (pl *Pool) evict(owner string, pass bool) (gone <-chan struct{}) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	i := pl.idle.indexOf(owner)
	if i < 0 {
		i = pl.idle.leastUsed(time.Now())
	}
	if i < 0 {
		return nil
	}
	if pass {
		pl.idle[i].p.poolState.hasSlot = false
	}
	return pl.retireIdle(i)
}

// releaseSlot returns the slot of a process, if it has one. The caller holds mu.
func (pl *Pool) releaseSlot(p *Process) {
	if p.poolState.hasSlot {
		p.poolState.hasSlot = false
		pl.slots.processes.Release(1)
	}
}

// startLimit is how long a process without output delays the start of others.
const startLimit = 15 * time.Second

// start starts a process in the caller's slot, unless the pool was closed. As many start at the same time as there are
// cores: more would only slow all of them down.
func (pl *Pool) start(ctx context.Context, owner string, spec Spec) (p *Process, err error) {
	if err := pl.slots.starts.Acquire(ctx, 1); err != nil {
		pl.slots.processes.Release(1)
		return nil, context.Cause(ctx)
	}
	c, err := pl.cfg.forOwner(owner)
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
	p.poolState.hasSlot = true
	// Closing may have happened while the process started; then nobody else would end it.
	closed := pl.closed
	if !closed {
		pl.processes[p] = true
		pl.tasks.Go(func() { pl.awaitStart(p) })
	}
	pl.mu.Unlock()
	if closed {
		pl.slots.starts.Release(1)
		pl.endProcess(ctx, p)
		return nil, ErrClosed
	}
	return p, nil
}

// awaitStart lets another process start after this one has.
func (pl *Pool) awaitStart(p *Process) {
	defer pl.slots.starts.Release(1)
	t := time.NewTimer(startLimit)
	defer t.Stop()
	select {
	case <-p.out.ready:
	case <-p.child.Exited():
	case <-t.C:
	}
}

// endProcess ends a process and waits for its end.
func (pl *Pool) endProcess(ctx context.Context, p *Process) {
	p.close(ctx)
	pl.mu.Lock()
	defer pl.mu.Unlock()
	delete(pl.processes, p)
	pl.releaseSlot(p)
}
