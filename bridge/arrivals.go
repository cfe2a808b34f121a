package bridge

import (
	"sync"
	"time"
)

// arrivals are the events that the platform has delivered and that are not stored yet. A chat whose events wait is
// silent, and its Stop with it; nothing else shows that.
type arrivals struct {
	mu    sync.Mutex
	next  int64
	since map[int64]time.Time
}

// arrived counts an event as waiting until taken is called.
func (a *arrivals) arrived() (taken func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.since == nil {
		a.since = map[int64]time.Time{}
	}
	id := a.next
	a.next++
	a.since[id] = time.Now()
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.since, id)
	}
}

// OldestEvent is when the oldest event arrived that the bridge has not taken yet; zero = none waits.
func (b *Bridge) OldestEvent() (oldest time.Time) {
	a := &b.arrivals
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, at := range a.since {
		if oldest.IsZero() || at.Before(oldest) {
			oldest = at
		}
	}
	return oldest
}
