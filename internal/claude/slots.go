package claude

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// slots are what turns and processes need: who comes first is served first.
type slots struct {
	turns     *semaphore.Weighted // one for each turn that runs
	processes *semaphore.Weighted // one for each process, until it is gone
	starts    *semaphore.Weighted // one for each process that is starting: that is the work of a core for a second

	mu    sync.Mutex
	queue int // turns without a place
}

func newSlots(l Limits, cores int) *slots {
	return &slots{
		turns: semaphore.NewWeighted(int64(l.Turns)), processes: semaphore.NewWeighted(int64(l.Processes)),
		starts: semaphore.NewWeighted(int64(cores)),
	}
}

// take waits for a place for a turn.
func (ps *slots) take(ctx context.Context) error {
	if ps.turns.TryAcquire(1) {
		return nil
	}
	ps.wait(1)
	defer ps.wait(-1)
	if err := ps.turns.Acquire(ctx, 1); err != nil {
		return context.Cause(ctx)
	}
	return nil
}

func (ps *slots) wait(n int) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.queue += n
}

// leave gives a turn's place back.
func (ps *slots) leave() { ps.turns.Release(1) }

// waiting is how many turns wait for a place.
func (ps *slots) waiting() int {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return ps.queue
}
