package feishu

import (
	"context"
	"sync"
	"time"
)

// readBacks limits the reads of a message whose update events lack its text to one per second.
type readBacks struct {
	mu   sync.Mutex
	last map[string]readBack // by message
}

// readBack is the last read of a message.
type readBack struct {
	at      time.Time
	waiting bool // for the next one
}

// readBackPeriod is the minimum time between two reads of a message.
const readBackPeriod = time.Second

// waitToRead waits until the message may be read, and reports whether the caller reads it. It returns false if another
// caller is waiting, whose read will return the latest version.
func (rb *readBacks) waitToRead(ctx context.Context, id string) bool {
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
	case <-ctx.Done(): // read at once; if that fails, the event is redelivered
	}
	rb.mu.Lock()
	defer rb.mu.Unlock()
	rb.last[id] = readBack{at: time.Now()}
	return true
}
