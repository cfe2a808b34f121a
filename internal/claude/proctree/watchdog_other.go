//go:build !linux

package proctree

import "context"

func (w *Watchdog) runOnce(ctx context.Context) error {
	<-ctx.Done()
	return nil
}
