package proctree

import (
	"context"
	"sync"
	"time"
)

// Watchdog ends the CLIs of this program with all that they have started, when the program has ended or was stopped, and
// cannot do it itself: it is a process of its own. It needs Linux. On Windows the CLIs end with this program in any case.
type Watchdog struct {
	Instance string   // of the CLIs, see [New]
	Users    []uint32 // as whom they run, besides this program's

	mu    sync.Mutex
	until time.Duration // when it ends the CLIs, by [boottime.Now]
	tell  func()        // tells its process; nil = there is none
}

// Extend has it end the CLIs at that time, by [boottime.Now], unless it is extended again. CLIs that start from then on end
// as well.
func (w *Watchdog) Extend(until time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until = until
	if w.tell != nil {
		w.tell()
	}
}

// Run runs it until ctx is done, when the CLIs must have ended. Its process is started again whenever it has ended; lost is
// told why.
func (w *Watchdog) Run(ctx context.Context, lost func(error)) {
	for {
		err := w.runOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		lost(err)
		pause(ctx, time.Second)
	}
}

// pause waits, and returns false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
