package claude

import (
	"context"
	"errors"
	"sync"
	"time"

	"magpie/internal/claude/transcript"
	"magpie/internal/claude/workspace"
)

// Ahead starts processes before they are requested: spare processes, which have no chat yet, and those of chats whose
// next question is near. They give way to any request.
type Ahead struct {
	cfg        Config
	processes  *processes
	idle       *idleProcesses
	spares     *spares
	background *backgroundTasks
	memory     *memoryWatch
}

// Expect starts a spare process with this spec in the background, if there is room: turns are likely to need it.
func (a *Ahead) Expect(spec Spec) error {
	dir, err := workspace.RealDir(spec.Dir)
	if err != nil {
		return err
	}
	spec.Dir = dir
	a.spares.requestSpare(spec)
	a.spares.fill()
	return nil
}

// TakeSpare gives owner, who has no process, a spare process that fits spec, if there is one; the next Acquire returns
// it, with its own session. bind stores that owner's agents keep their state in the spare process's folder, and reports
// whether they do: nobody else can have it then. If bind fails, the process ends.
func (a *Ahead) TakeSpare(owner string, spec Spec, bind func(folder string) (bool, error)) error {
	dir, err := workspace.RealDir(spec.Dir)
	if err != nil {
		return err
	}
	spec.Dir = dir
	if spec.Resume {
		return nil
	}
	a.spares.requestSpare(spec)
	if spec.Budget > 0 {
		return nil
	}
	it := a.spares.acquire(spec)
	if it == nil {
		return nil
	}
	bound, err := bind(it.folder)
	if err != nil { // the folder may be owner's: the next start of the program decides
		a.processes.terminate(context.Background(), it.p)
		return err
	}
	if !bound {
		a.spares.release(it)
		return nil
	}
	if it.p.tools.Bind != nil {
		it.p.tools.Bind(owner)
	}
	it.p.spec.Name, it.p.session.unnamed = spec.Name, spec.Name != ""
	if !a.idle.adopt(owner, it.p, a.idle.ahead) {
		a.processes.terminate(context.Background(), it.p)
	}
	return workspace.UnmarkSpare(a.cfg, it.folder)
}

// Start starts the process that owner's next turn is likely to need, so that the turn need not wait for it. It does
// nothing if owner has a process or a turn, or if there is no room, and it returns the error of [Pool.Acquire] for a
// session that cannot be resumed. The process ends if no turn comes within a minute; until then it gets no input and
// writes nothing, and it gives way to any turn.
func (a *Ahead) Start(ctx context.Context, owner string, spec Spec) error {
	return a.start(ctx, owner, spec, a.idle.ahead, a.background.tryAcquireSpareOf)
}

// StartNew is [Ahead.Start] for the first turn of a new conversation that owner has requested. The process waits as
// long as a spare process does, or the keep-alive time if that is shorter.
func (a *Ahead) StartNew(ctx context.Context, owner string, spec Spec) error {
	return a.start(ctx, owner, spec, a.newWait(), a.background.tryAcquireSpareOf)
}

// Errors of [Ahead.StartAgain].
var (
	ErrNoRoom = errors.New("claude: no room for another process")
	ErrBusy   = errors.New("claude: another process is starting")
)

// StartAgain is [Ahead.StartNew] for an owner who last spoke at that time, and whose process ended with an earlier run
// of the program. Nobody is waiting for it, so it starts alone: while any other process is starting, it returns
// [ErrBusy]. [ErrNoRoom] means that there is no slot or no memory for it.
func (a *Ahead) StartAgain(ctx context.Context, owner string, spec Spec, spoke time.Time) error {
	if a.Holds(owner) {
		return nil
	}
	if a.processes.slots.starts.busy() {
		return ErrBusy
	}
	err := a.tryStart(ctx, owner, spec, a.newWait(), a.background.tryAcquireSpareOf)
	if err == nil {
		a.idle.noteActivity(owner, spoke)
	}
	return err
}

// Holds reports whether owner has a turn, or a process that waits for one or is being started for it.
func (a *Ahead) Holds(owner string) bool { return a.idle.holds(owner) }

// Prolong notes another sign that owner has a question: a process that waits for the first one waits as long again. It
// reports whether owner has a process or a turn.
func (a *Ahead) Prolong(owner string) bool { return a.idle.prolong(owner) }

// newWait is how long a process waits for a turn that is very likely.
func (a *Ahead) newWait() time.Duration { return max(a.idle.ahead, min(spareAge, a.idle.keepAlive)) }

// start is tryStart without an error if no process must start now.
func (a *Ahead) start(
	ctx context.Context, owner string, spec Spec, wait time.Duration, room func(free int64) bool,
) error {
	err := a.tryStart(ctx, owner, spec, wait, room)
	if errors.Is(err, ErrNoRoom) || errors.Is(err, ErrBusy) {
		return nil
	}
	return err
}

// tryStart starts a process that waits that long for owner's turn, if room acquires a slot for it; room gets the
// required number of free slots.
func (a *Ahead) tryStart(
	ctx context.Context, owner string, spec Spec, wait time.Duration, room func(free int64) bool,
) error {
	dir, err := workspace.RealDir(spec.Dir)
	if err != nil {
		return err
	}
	spec.Dir = dir
	if spec.Budget > 0 { // a process with a limit serves one turn, which begins with its start
		return nil
	}
	done, ok := a.idle.reserve(owner)
	if !ok {
		return nil
	}
	defer done()
	p, err := verifyAndStart(a.cfg, owner, spec, func() (*Process, error) {
		if !room(2) { // one slot stays free for the next request
			return nil, ErrNoRoom
		}
		return a.processes.startUnasked(ctx, spec, func() (workspace.Agent, error) { return a.cfg.AgentOf(owner) })
	})
	if err != nil {
		return err
	}
	if !a.idle.adopt(owner, p, wait) {
		a.processes.terminate(ctx, p)
	}
	a.memory.watch()
	return nil
}

// verifyAndStart starts a process, unless the session to resume has changed.
func verifyAndStart(
	c Config, owner string, spec Spec, start func() (*Process, error),
) (p *Process, err error) {
	var syncState transcript.SyncState
	if spec.Resume { // not earlier: an ending process still writes its transcript
		syncState, err = c.Transcripts(owner).Verify(spec.Dir, spec.Session, spec.Prompts())
	}
	spec.Known = nil // the process may outlive the caller's data
	if err == nil {
		p, err = start()
	}
	if err == nil {
		p.session.sync = syncState
	}
	return p, err
}

// acquireTurn waits for the slot of a turn. Meanwhile it starts the turn's process, if there is room for it beside
// those of earlier turns.
func (a *Ahead) acquireTurn(ctx context.Context, of *slots, owner string, spec Spec) error {
	if of.tryAcquireTurn() {
		return nil
	}
	var start sync.WaitGroup
	start.Go(func() {
		// the turn meets the same error
		_ = a.start(ctx, owner, spec, a.newWait(), a.background.tryAcquireOf)
	})
	defer start.Wait()
	return of.acquireTurn(ctx, spec.Queued)
}
