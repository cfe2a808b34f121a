package claude

import (
	"context"

	"magpie/internal/claude/stream"
)

// Works reports whether a process of the pool is known to work between turns.
func (pl *Pool) Works() bool {
	pl.processes.mu.Lock()
	defer pl.processes.mu.Unlock()
	for p := range pl.processes.all {
		if p.out.isBusy() {
			return true
		}
	}
	return false
}

// Ready reports whether all processes of the pool have reported that they are ready.
func (pl *Pool) Ready() bool {
	pl.processes.mu.Lock()
	defer pl.processes.mu.Unlock()
	for p := range pl.processes.all {
		select {
		case <-p.out.ready:
		default:
			return false
		}
	}
	return true
}

// AwaitInput waits until the CLI has read all that was sent to it: it answers a request after what came before.
func (p *Process) AwaitInput(ctx context.Context) error {
	_, err := requestControl(ctx, p, stream.UsageRequest())
	return err
}
