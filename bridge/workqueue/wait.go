package workqueue

import (
	"context"
	"time"
)

// StoreRetry is the wait before a database operation is retried.
const StoreRetry = time.Second

// Sleep waits for d, or until ctx is done.
func Sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
