package claude

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// slots limit turns and processes, first come, first served.
type slots struct {
	turns     *semaphore.Weighted // one per running turn
	processes *semaphore.Weighted // one per process, until it has ended
	starts    *semaphore.Weighted // one per starting process: a start keeps a core busy for a second

	mu    sync.Mutex
	queue int // turns that wait
}

// newSlots bounds starts by the number of cores, since a start of the CLI takes most of a second of CPU
// time (0.6 to 0.8 s).
func newSlots(l Limits, cores int) *slots {
	return &slots{
		turns: semaphore.NewWeighted(int64(l.Turns)), processes: semaphore.NewWeighted(int64(l.Processes)),
		starts: semaphore.NewWeighted(int64(cores)),
	}
}

// acquireTurn waits for the slot of a turn.
func (ps *slots) acquireTurn(ctx context.Context) error {
	if ps.turns.TryAcquire(1) {
		return nil
	}
	ps.addWaiting(1)
	defer ps.addWaiting(-1)
	if err := ps.turns.Acquire(ctx, 1); err != nil {
		return context.Cause(ctx)
	}
	return nil
}

func (ps *slots) addWaiting(n int) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.queue += n
}

// releaseTurn returns the slot of a turn.
func (ps *slots) releaseTurn() { ps.turns.Release(1) }

// waiting is how many turns wait for a slot.
func (ps *slots) waiting() int {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return ps.queue
}
