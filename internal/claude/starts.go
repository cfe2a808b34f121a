package claude

import (
	"context"
	"errors"
	"time"

	"magpie/internal/claude/stream"
	"magpie/internal/claude/transcript"
	"magpie/internal/claude/workspace"
)

// startLimit is how long a process without output delays the start of others.
const startLimit = 15 * time.Second

// earlyLimit is the same for a process without a prompt. It is about as long as a start takes.
const earlyLimit = time.Second

// start starts the process of an entry when room returns, unless the session to resume has changed. After an error the
// entry is not in the table any more.
func (pl *Pool) start(ctx context.Context, e *entry, spec Spec, room func() error) (err error) {
	defer func() {
		if err != nil {
			pl.discard(e)
		}
	}()
	var known transcript.SyncState
	if spec.Resume {
		known, err = pl.cfg.Transcripts(e.owner).Verify(spec.Dir, spec.Session, spec.Prompts())
	}
	spec.Known = nil // the process may outlive the caller's data
	if err == nil {
		err = room()
	}
	if err != nil {
		return err
	}
	pl.mu.Lock()
	e.logins = pl.logins
	pl.mu.Unlock()
	p, err := pl.begin(e, spec)
	if err != nil {
		return err
	}
	p.session.sync = known
	pl.mu.Lock()
	pl.started++
	closed := pl.closed
	if !closed {
		e.p = p
		go pl.watchStart(e, p, e.state == starting)
	}
	if pl.suspended && !closed { // since it was begun
		now, cancel := context.WithCancel(context.Background())
		cancel()
		pl.cutOff(now, e)
		pl.settle()
	}
	pl.mu.Unlock()
	if closed {
		pl.end(p, ctx)
		return ErrClosed
	}
	return nil
}

// discard takes out an entry whose process has not started.
func (pl *Pool) discard(e *entry) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	pl.remove(e)
}

// beginProcess starts the process of an entry.
func (pl *Pool) beginProcess(e *entry, spec Spec) (*Process, error) {
	var a workspace.Agent
	var err error
	if e.folder == "" {
		a, err = pl.cfg.AgentOf(e.owner)
	} else {
		a, err = pl.spareAgent(e.folder)
	}
	if err != nil {
		return nil, err
	}
	return start(a, spec)
}

// watchStart lets another process start after this one has started, and notes when an unused one ends.
func (pl *Pool) watchStart(e *entry, p *Process, early bool) {
	limit := startLimit
	if early {
		limit = earlyLimit
		p.in.SendControl(stream.Initialization())
	}
	select {
	case <-p.out.ready:
	case <-p.child.Exited():
	case <-time.After(limit):
	}
	if p.out.said.Load() {
		pl.installation.noteWorking(p.program)
	}
	pl.mu.Lock()
	e.core = false
	pl.settle()
	pl.mu.Unlock()
	<-p.child.Exited()
	pl.mu.Lock()
	defer pl.mu.Unlock()
	if e.state == spare {
		pl.retire(e, EndDied)
	}
}

// takeSlot takes the slot of a process, if one is free. The caller holds mu, as of the functions that follow.
func (pl *Pool) takeSlot(e *entry) bool {
	e.slot = !pl.suspended && pl.slots() < pl.limits.Processes
	return e.slot
}

// slots is how many slots of processes are taken.
func (pl *Pool) slots() int { return pl.count(func(e *entry) bool { return e.slot }) }

// starts is how many cores are busy with starts.
func (pl *Pool) starts() int { return pl.count(func(e *entry) bool { return e.core }) }

// takeCore takes a core for a start, if necessary that of a process that nobody waits for.
func (pl *Pool) takeCore(e *entry) bool {
	if pl.starts() >= pl.cores {
		other := pl.find(func(e *entry) bool { return e.core && !e.isAwaited() })
		if other == nil {
			return false
		}
		other.core = false
	}
	e.core = true
	return true
}

// measure reads the free memory, while mu is unlocked. It raises the limits if there is memory for more processes than
// before. Those that are starting do not use all of their memory yet, so they count as part of what is free.
func (pl *Pool) measure() memory {
	pl.mu.Unlock()
	now := pl.machine.memory()
	pl.mu.Lock()
	using := pl.count(func(e *entry) bool { return e.p != nil && e.p.isReady() })
	if n := min(using+now.processes(), pl.limits.MaxProcesses); now.known && n > pl.limits.Processes {
		pl.limits = pl.limits.withProcesses(n)
		pl.limits.Memory = now.free
		pl.settle()
	}
	return now
}

// acquireRoom waits for the slot of a process that somebody waits for, if it has none yet, and for a core. If all slots
// are taken, or there is no memory, the process that is needed least ends first; own is the chat that needs the new one.
func (pl *Pool) acquireRoom(ctx context.Context, e *entry, own string) (err error) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	if !e.slot {
		now := pl.measure()
		if !pl.takeSlot(e) {
			err = pl.await(ctx, &waiter{
				ready: func() bool { return pl.takeSlot(e) }, slot: true, own: own, beside: now.known && !now.isTight(1),
			})
		} else if now.isTight(1) {
			if old := pl.makeRoom(own); old != nil {
				err = pl.await(ctx, &waiter{ready: func() bool { return old.state == ended }})
			}
		}
	}
	if err != nil {
		return err
	}
	return pl.await(ctx, &waiter{ready: func() bool { return pl.takeCore(e) }})
}

// Errors of [Pool.StartAgain].
var (
	ErrNoRoom = errors.New("claude: no room for another process")
	ErrBusy   = errors.New("claude: another process is starting")
)

// tryRoom takes a slot for a process that nobody waits for, if that many are free and there is memory for as many. If it
// is not for an errand, it also takes a core. A turn that waits for its slot goes first, unless the process is its own.
func (pl *Pool) tryRoom(e *entry, free int, own bool) error {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	now := pl.measure()
	switch {
	case pl.closed:
		return ErrClosed
	case pl.suspended, now.isTight(free), pl.slots()+free > pl.limits.Processes, pl.turnsWaiting() > 0 && !own:
		return ErrNoRoom
	case e.state == starting && pl.starts() >= pl.cores:
		return ErrBusy
	}
	e.slot, e.core = true, e.state == starting
	return nil
}

// memoryPeriod is how often the free memory is read while processes are idle.
const memoryPeriod = 10 * time.Second

// watch has the memory be read again, as long as there are idle processes: other programs may need it.
func (pl *Pool) watch() {
	unused := func(e *entry) bool { return e.state == idle || e.state == spare }
	if pl.monitored == nil || pl.look != nil || pl.closed || pl.find(unused) == nil {
		return
	}
	period := pl.cfg.MemoryPeriod
	if period == 0 {
		period = memoryPeriod
	}
	pl.look = time.AfterFunc(period, func() {
		scarce := pl.monitored.memory().isTight(0)
		pl.mu.Lock()
		defer pl.mu.Unlock()
		if pl.look = nil; scarce {
			pl.makeRoom("")
		}
		pl.watch()
	})
}
