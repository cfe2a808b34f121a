package claude

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"time"

	"magpie/internal/claude/workspace"
)

// StartError means that the CLI did not start: it could not be run, or ended before it said anything in its protocol.
type StartError struct {
	Err     error
	program workspace.Program // what was run
}

func (e *StartError) Error() string { return e.Err.Error() }

func (e *StartError) Unwrap() error { return e.Err }

// installation knows which program is the CLI that works. An update replaces it: for some seconds it is gone, half
// written, or a placeholder that only says so. Neither is a reason to fail.
type installation struct {
	command string

	mu    sync.Mutex
	works workspace.Program // when this program began, then that of the last process that has started
	never workspace.Program // one that stayed although it does not start; zero = none
	gone  bool              // none came back in time
}

func newInstallation(command string) *installation {
	return &installation{command: command, works: workspace.ProgramAt(command)}
}

// noteWorking records a program whose process has started.
func (in *installation) noteWorking(p workspace.Program) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.works, in.never, in.gone = p, workspace.Program{}, false
}

// giveUp records that nothing better came in time than p.
func (in *installation) giveUp(p workspace.Program) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.never, in.gone = p, p == workspace.Program{}
}

// isReplaced reports whether a start has failed because the program is being replaced.
func (in *installation) isReplaced(failed *StartError) bool {
	if errors.Is(failed, syscall.ETXTBSY) {
		return true
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	switch failed.program {
	case workspace.Program{}:
		return !in.gone
	case in.works:
		return false
	}
	return failed.program != in.never
}

// replaceLimit is how long a replacement is awaited. npm takes some seconds, more on a slow network.
const replaceLimit = time.Minute

// replaceLook is how often the program is looked at. It is complete if it is the same twice in a row.
const replaceLook = 500 * time.Millisecond

// await waits until there is another program than the one that has failed, or ctx ends.
func (in *installation) await(ctx context.Context, failed *StartError) bool {
	old := failed.program
	if errors.Is(failed, syscall.ETXTBSY) {
		old = workspace.Program{}
	}
	look := time.NewTicker(replaceLook)
	defer look.Stop()
	for last := old; ; {
		select {
		case <-ctx.Done():
			return false
		case <-look.C:
		}
		now := workspace.ProgramAt(in.command)
		if now != (workspace.Program{}) && now != old && now == last {
			return true
		}
		last = now
	}
}

// Replacement is the wait of one turn for a CLI that is being replaced.
type Replacement struct {
	pool  *Pool
	until time.Time // zero = it has not begun
}

// NewReplacement returns the wait of a turn of the pool, which has not begun.
func NewReplacement(of *Pool) *Replacement { return &Replacement{pool: of} }

// Await waits, after a start that has failed with err, until the CLI has been replaced, and reports whether another start
// makes sense. It does not, if err has another cause, ctx has ended, or a minute is over since the first call. It calls
// begin before it waits.
func (r *Replacement) Await(ctx context.Context, err error, begin func()) bool {
	in := r.pool.installation
	failed, ok := errors.AsType[*StartError](err)
	if !ok || ctx.Err() != nil || !in.isReplaced(failed) {
		return false
	}
	if r.until.IsZero() {
		r.until = time.Now().Add(replaceLimit)
	}
	begin()
	limited, cancel := context.WithDeadline(ctx, r.until)
	defer cancel()
	if in.await(limited, failed) {
		return true
	}
	if ctx.Err() == nil {
		in.giveUp(failed.program)
	}
	return false
}
