package claude

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"
)

// startSlots limit how many processes start at the same time: a start keeps a core busy for a second. Starts that
// nobody is waiting for give way to the others.
type startSlots struct {
	cores int64
	slots *semaphore.Weighted

	mu      sync.Mutex
	unasked []*startSlot // of processes that nobody is waiting for
}

// startSlot is the slot of one process until it has started.
type startSlot struct {
	starts *startSlots
	once   sync.Once
}

func newStartSlots(cores int) *startSlots {
	return &startSlots{cores: int64(cores), slots: semaphore.NewWeighted(int64(cores))}
}

// acquire waits for a slot, first come, first served. If none is free, it takes that of a process that nobody is
// waiting for.
func (s *startSlots) acquire(ctx context.Context) (*startSlot, error) {
	slot := &startSlot{starts: s}
	if s.slots.TryAcquire(1) {
		return slot, nil
	}
	s.mu.Lock()
	var other *startSlot
	if len(s.unasked) > 0 {
		other = s.unasked[0]
	}
	s.mu.Unlock()
	if other != nil {
		other.release()
	}
	if err := s.slots.Acquire(ctx, 1); err != nil {
		return nil, context.Cause(ctx)
	}
	return slot, nil
}

// tryAcquireUnasked takes a slot for a process that nobody is waiting for, if one is free; otherwise it returns nil.
func (s *startSlots) tryAcquireUnasked() *startSlot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.slots.TryAcquire(1) {
		return nil
	}
	slot := &startSlot{starts: s}
	s.unasked = append(s.unasked, slot)
	return slot
}

// busy reports whether a process is starting.
func (s *startSlots) busy() bool {
	if !s.slots.TryAcquire(s.cores) {
		return true
	}
	s.slots.Release(s.cores)
	return false
}

// release releases the slot, once.
func (slot *startSlot) release() {
	slot.once.Do(func() {
		s := slot.starts
		s.mu.Lock()
		defer s.mu.Unlock()
		s.unasked = slices.DeleteFunc(s.unasked, func(other *startSlot) bool { return other == slot })
		s.slots.Release(1)
	})
}
