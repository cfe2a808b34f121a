package claude

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// slots limit turns and processes, first come, first served.
type slots struct {
	turns     *semaphore.Weighted // one per running turn
	processes *semaphore.Weighted // one per process, until it has ended
	starts    *startSlots
	started   func() int // the number of processes that have started, and so use the memory that they need

	mu     sync.Mutex
	limits Limits
	queue  []*waitingTurn // first come, first served
}

// waitingTurn is a turn that waits for its slot.
type waitingTurn struct{ placed func(place int) }

// newSlots limits starts by the number of cores, since a start of the CLI takes most of a second of CPU time (0.6 to
// 0.8 s).
func newSlots(l Limits, cores int) *slots {
	ps := &slots{
		turns: semaphore.NewWeighted(int64(l.MaxTurns)), processes: semaphore.NewWeighted(int64(l.MaxProcesses)),
		starts: newStartSlots(cores), started: func() int { return 0 }, limits: l,
	}
	ps.turns.TryAcquire(int64(l.MaxTurns - l.Turns)) // until grow releases them
	ps.processes.TryAcquire(int64(l.MaxProcesses - l.Processes))
	return ps
}

// currentLimits are the limits at this moment.
func (ps *slots) currentLimits() Limits {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return ps.limits
}

// grow raises the limits if there is memory for more processes than before. Those that are starting do not use all of
// their memory yet, so they count as part of what is free.
func (ps *slots) grow() bool {
	started := ps.started()
	ps.mu.Lock()
	defer ps.mu.Unlock()
	old := ps.limits
	if old.machine == nil || old.Processes == old.MaxProcesses {
		return false
	}
	free, total, err := old.machine.memory()
	n := min(started+processesIn(free, total), old.MaxProcesses)
	if err != nil || n <= old.Processes {
		return false
	}
	ps.limits = old.withProcesses(n)
	ps.limits.Memory = free
	ps.processes.Release(int64(n - old.Processes))
	ps.turns.Release(int64(ps.limits.Turns - old.Turns))
	return true
}

// tryAcquireProcesses takes slots of processes if as many are free.
func (ps *slots) tryAcquireProcesses(n int64) bool {
	return ps.processes.TryAcquire(n) || ps.grow() && ps.processes.TryAcquire(n)
}

// tryAcquireTurn takes the slot of a turn if one is free and no turn is waiting for it.
func (ps *slots) tryAcquireTurn() bool {
	return ps.turns.TryAcquire(1) || ps.grow() && ps.turns.TryAcquire(1)
}

// growPeriod is how often the free memory is read while turns wait.
const growPeriod = time.Second

// acquireTurn waits for the slot of a turn. placed gets the turn's place in the queue, the first being 1, whenever that
// changes, and 0 when it waits no more; it must not block, and may be nil.
func (ps *slots) acquireTurn(ctx context.Context, placed func(place int)) error {
	if ps.tryAcquireTurn() {
		return nil
	}
	defer ps.join(placed)()
	waiting, done := context.WithCancel(ctx)
	defer done()
	if l := ps.currentLimits(); l.Processes < l.MaxProcesses {
		go ps.growUntil(waiting)
	}
	if err := ps.turns.Acquire(ctx, 1); err != nil {
		return context.Cause(ctx)
	}
	return nil
}

// growUntil raises the limits as memory becomes free, until done ends.
func (ps *slots) growUntil(done context.Context) {
	look := time.NewTicker(growPeriod)
	defer look.Stop()
	for {
		select {
		case <-done.Done():
			return
		case <-look.C:
			ps.grow()
		}
	}
}

// join puts a turn at the end of the queue; leave takes it out.
func (ps *slots) join(placed func(place int)) (leave func()) {
	if placed == nil {
		placed = func(int) {}
	}
	w := &waitingTurn{placed}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.queue = append(ps.queue, w)
	placed(len(ps.queue))
	return func() {
		ps.mu.Lock()
		defer ps.mu.Unlock()
		i := slices.Index(ps.queue, w)
		ps.queue = slices.Delete(ps.queue, i, i+1)
		placed(0)
		for n, behind := range ps.queue[i:] {
			behind.placed(i + n + 1)
		}
	}
}

// releaseTurn returns the slot of a turn.
func (ps *slots) releaseTurn() { ps.turns.Release(1) }

// waiting is how many turns wait for a slot.
func (ps *slots) waiting() int {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return len(ps.queue)
}

// processSlots takes the slots of new processes, if necessary from processes that are less important.
type processSlots struct {
	slots      *slots
	limits     Limits
	idle       *idleProcesses
	spares     *spares
	background *backgroundTasks
	waiters    atomic.Int64 // turns that wait for a slot
}

// acquire gets owner a slot for a new process. If none is free, a spare process ends and passes its slot on. If there
// is none, it preempts a background task that nobody is waiting for. If there is none either, the least used idle
// process ends and passes its slot on; if owner has an idle process itself, it is that one, since the new one replaces
// it.
func (ps *processSlots) acquire(ctx context.Context, owner string) error {
	if ps.slots.tryAcquireProcesses(1) {
		if !ps.limits.memoryTight(1) {
			return nil
		}
		if gone := ps.spares.evict(false); gone != nil {
			return ps.await(ctx, gone)
		}
		return ps.await(ctx, ps.idle.evict(ownOrLeastUsed(owner), false))
	}
	if ps.waiters.Load() == 0 { // otherwise a spare process ends for the first in the queue
		if gone := ps.spares.evict(true); gone != nil {
			return ps.takeOver(ctx, gone)
		}
	}
	if !ps.background.preempt() {
		if gone := ps.idle.evict(ownOrLeastUsed(owner), true); gone != nil {
			return ps.takeOver(ctx, gone)
		}
	}
	return ps.wait(ctx)
}

// takeOver waits for the end of a process that has passed its slot to the caller, unless there is memory for both until
// then.
func (ps *processSlots) takeOver(ctx context.Context, gone <-chan struct{}) error {
	if ps.limits.machine != nil && !ps.limits.memoryTight(1) {
		return nil
	}
	return ps.await(ctx, gone)
}

// recheck is how often a turn that waits for a slot checks whether another process can end for it.
const recheck = 50 * time.Millisecond

// wait waits for a slot, first come, first served. All slots belong to other turns, which are fewer than the slots, to
// processes that are ending, or to processes that were starting without a turn, which it ends.
func (ps *processSlots) wait(ctx context.Context) error {
	ps.waiters.Add(1)
	defer ps.waiters.Add(-1)
	acquired := make(chan error, 1)
	go func() { acquired <- ps.slots.processes.Acquire(ctx, 1) }()
	look := time.NewTicker(recheck)
	defer look.Stop()
	for {
		var gone <-chan struct{}
		select {
		case err := <-acquired:
			if err != nil {
				return context.Cause(ctx)
			}
			return nil
		case <-look.C:
			if gone = ps.spares.evict(false); gone == nil {
				gone = ps.idle.evict(withoutTurn, false)
			}
		}
		if gone != nil {
			<-gone
		}
	}
}

// await waits for the end of a process (nil = none) for a caller that holds a slot.
func (ps *processSlots) await(ctx context.Context, gone <-chan struct{}) error {
	if gone == nil {
		return nil
	}
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		ps.slots.processes.Release(1)
		return context.Cause(ctx)
	}
}
