package feishu

import (
	"context"
	"sync"
	"time"
)

// readBacks keeps a message whose updates are reported without its text from being read more than once a second,
// however often it is updated.
type readBacks struct {
	mu   sync.Mutex
	last map[string]readBack // by message
}

// readBack is the last time that a message was read.
type readBack struct {
	at      time.Time
	waiting bool // for the next one
}

// readBackPeriod is how often a message is read at most.
const readBackPeriod = time.Second

// enter waits until the message may be read, and reports whether the caller reads it: not if another one waits, which
// reads what the message is then.
func (rb *readBacks) enter(ctx context.Context, id string) bool {
	rb.mu.Lock()
	now := time.Now()
	for other, r := range rb.last {
		if !r.waiting && now.Sub(r.at) >= readBackPeriod {
			delete(rb.last, other)
		}
	}
	r, ok := rb.last[id]
	if r.waiting {
		rb.mu.Unlock()
		return false
	}
	if !ok {
		rb.last[id] = readBack{at: now}
		rb.mu.Unlock()
		return true
	}
	rb.last[id] = readBack{r.at, true}
	rb.mu.Unlock()
	t := time.NewTimer(r.at.Add(readBackPeriod).Sub(now))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done(): // it is read at once; the event is delivered again if that fails
	}
	rb.mu.Lock()
	defer rb.mu.Unlock()
	rb.last[id] = readBack{at: time.Now()}
	return true
}
