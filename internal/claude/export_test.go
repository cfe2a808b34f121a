package claude

import (
	"context"

	"magpie/internal/claude/stream"
)

// Works reports whether a process of the pool is known to work between turns.
func (pl *Pool) Works() bool {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	return pl.find(func(e *entry) bool { return e.p != nil && e.p.out.isBusy() }) != nil
}

// Ready reports whether all processes of the pool have reported that they are ready.
func (pl *Pool) Ready() bool {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	return pl.find(func(e *entry) bool { return e.p != nil && !e.p.isReady() }) == nil
}

// AwaitInput waits until the CLI has read all that was sent to it: it answers a request after what came before.
func (p *Process) AwaitInput(ctx context.Context) error {
	_, err := requestControl(ctx, p, stream.UsageRequest())
	return err
}
