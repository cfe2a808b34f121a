package claude

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"
)

// places are what turns need to run: so many there are, and who comes first is served first. A question has one only while
// no turn waits for it.
type places struct {
	slots *semaphore.Weighted
	asks  *semaphore.Weighted // one per question that has a place, or waits for one: no more than half of the places are theirs

	mu     sync.Mutex
	queue  int      // turns without a place
	guests []*guest // questions that have a place; the one that came last goes first
}

// guest is a question in a place that a turn may claim.
type guest struct{ leave context.CancelCauseFunc }

func newPlaces(n int) *places {
	return &places{slots: semaphore.NewWeighted(int64(n)), asks: semaphore.NewWeighted(max(1, int64(n/2)))}
}

// take waits for a place for a turn. When there is none, a question has to leave its own.
func (ps *places) take(ctx context.Context) error {
	if ps.try() {
		return nil
	}
	ps.mu.Lock()
	ps.queue++
	if n := len(ps.guests); n > 0 {
		ps.guests[n-1].leave(errGaveWay)
		ps.guests = ps.guests[:n-1]
	}
	ps.mu.Unlock()
	err := ps.slots.Acquire(ctx, 1)
	ps.mu.Lock()
	ps.queue--
	ps.mu.Unlock()
	if err != nil {
		return context.Cause(ctx)
	}
	return nil
}

// try takes a place if there is one, and nobody waits for it.
func (ps *places) try() bool { return ps.slots.TryAcquire(1) }

// leave gives a turn's place back.
func (ps *places) leave() { ps.slots.Release(1) }

// waiting is how many turns wait for a place.
func (ps *places) waiting() int {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return ps.queue
}

// spare waits for a place for a question that no turn waits for.
func (ps *places) spare(ctx context.Context, g *guest) error {
	if err := ps.asks.Acquire(ctx, 1); err != nil {
		return context.Cause(ctx)
	}
	for {
		if err := ps.slots.Acquire(ctx, 1); err != nil {
			ps.asks.Release(1)
			return context.Cause(ctx)
		}
		if ps.enter(g) {
			return nil
		}
		ps.slots.Release(1) // whoever waits is in front of us now
	}
}

// enter notes a question that has a place, unless a turn waits for one.
func (ps *places) enter(g *guest) bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.queue > 0 {
		return false
	}
	ps.guests = append(ps.guests, g)
	return true
}

// vacate gives a question's place back.
func (ps *places) vacate(g *guest) {
	ps.mu.Lock()
	ps.guests = slices.DeleteFunc(ps.guests, func(other *guest) bool { return other == g })
	ps.mu.Unlock()
	ps.slots.Release(1)
	ps.asks.Release(1)
}
