package claude_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// patience is how long a test waits for anything: far longer than a busy machine needs.
const patience = 5 * time.Minute

// poll calls ok until it succeeds, for the few events of the operating system that cannot be awaited.
func poll(ctx context.Context, what string, ok func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("not seen: "+what))
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func waitFile(ctx context.Context, path string) error {
	return poll(ctx, path, func() bool {
		info, err := os.Stat(path)
		return err == nil && info.Size() > 0
	})
}

func waitGone(ctx context.Context, pid string) error {
	return poll(ctx, "the end of process "+pid, func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%s/stat", pid))
		return err != nil || len(stat) == 0
	})
}
