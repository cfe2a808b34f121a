package feishu

import (
	"context"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"magpie/feishu/openapi"
)

// readBacks limits the reads of a message whose update events lack its text to one per second.
type readBacks struct {
	limits *lru.Cache[string, *rate.Limiter] // by message
}

const (
	readBackPeriod = time.Second // the minimum time between two reads of a message
	maxReadBacks   = 1000        // messages; one that is dropped may be read at once
)

func newReadBacks() readBacks {
	limits, _ := lru.New[string, *rate.Limiter](maxReadBacks) // fails for sizes below 1 only
	return readBacks{limits}
}

// waitToRead waits until the message may be read, and reports whether the caller reads it. It returns false if another
// caller is waiting, whose read will return the latest version.
func (rb readBacks) waitToRead(ctx context.Context, id string) bool {
	limit := rate.NewLimiter(rate.Every(readBackPeriod), 1)
	if earlier, ok, _ := rb.limits.PeekOrAdd(id, limit); ok {
		limit = earlier
	}
	next := limit.Reserve()
	if next.Delay() > readBackPeriod { // behind another caller
		next.Cancel()
		return false
	}
	_ = openapi.Sleep(ctx, next.Delay()) // at its end read at once; if that fails, the event is redelivered
	return true
}
