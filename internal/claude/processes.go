package claude

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"magpie/internal/claude/stream"
	"magpie/internal/claude/workspace"
)

// processes starts processes, each in its own slot, and tracks all that have not ended.
type processes struct {
	cfg          Config
	slots        *slots
	installation *installation
	tasks        sync.WaitGroup // processes that are starting, or are ended by close
	// logins is the number of logins so far: a process that was started before the last one only knows the earlier
	// login
	logins atomic.Int64

	mu     sync.Mutex
	all    map[*Process]bool
	count  PoolStats // Running, Yielded and Started
	closed bool
}

func newProcesses(c Config, s *slots) *processes {
	return &processes{cfg: c, slots: s, installation: newInstallation(c.Command), all: map[*Process]bool{}}
}

// startLimit is how long a process without output delays the start of others.
const startLimit = 15 * time.Second

// unaskedLimit is the same for a process without a prompt. It is about as long as a start takes.
const unaskedLimit = time.Second

// start starts a process of owner in the caller's slot, unless the pool was closed.
func (ps *processes) start(ctx context.Context, owner string, spec Spec) (*Process, error) {
	// As many start at the same time as there are cores: more would only slow all of them down.
	slot, err := ps.slots.starts.acquire(ctx)
	if err != nil {
		ps.slots.processes.Release(1)
		return nil, err
	}
	return ps.startAgent(ctx, spec, slot, startLimit, func() (workspace.Agent, error) { return ps.cfg.AgentOf(owner) })
}

// startUnasked is start for a process that nobody is waiting for: it starts only while there is a free core.
func (ps *processes) startUnasked(
	ctx context.Context, spec Spec, of func() (workspace.Agent, error),
) (*Process, error) {
	slot := ps.slots.starts.tryAcquireUnasked()
	if slot == nil {
		ps.slots.processes.Release(1)
		return nil, ErrBusy
	}
	p, err := ps.startAgent(ctx, spec, slot, unaskedLimit, of)
	if err == nil {
		p.in.SendControl(stream.Initialization())
	}
	return p, err
}

// startAgent starts a process of an agent. The caller holds a process slot and a start slot; the latter is released
// when the process has started, after limit at most.
func (ps *processes) startAgent(
	ctx context.Context, spec Spec, slot *startSlot, limit time.Duration, of func() (workspace.Agent, error),
) (p *Process, err error) {
	logins := ps.logins.Load()
	a, err := of()
	if err == nil {
		p, err = start(a, spec)
	}
	if err != nil {
		slot.release()
		ps.slots.processes.Release(1)
		return nil, err
	}
	p.logins = logins
	if !ps.register(p, slot, limit) {
		slot.release()
		ps.terminate(ctx, p)
		return nil, ErrClosed
	}
	return p, nil
}

// register records a process that has been started in a slot. After close it returns false, and the caller ends the
// process.
func (ps *processes) register(p *Process, slot *startSlot, limit time.Duration) bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.count.Started++
	p.slot.held = true
	if ps.closed {
		return false
	}
	ps.all[p] = true
	ps.tasks.Go(func() {
		awaitStart(p, slot, limit)
		if p.out.said.Load() {
			ps.installation.noteWorking(p.program)
		}
	})
	return true
}

// awaitStart lets another process start after this one has started.
func awaitStart(p *Process, slot *startSlot, limit time.Duration) {
	defer slot.release()
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-p.out.ready:
	case <-p.child.Exited():
	case <-t.C:
	}
}

// terminate ends a process, waits for its end and releases its slot.
func (ps *processes) terminate(ctx context.Context, p *Process) {
	p.close(ctx)
	ps.mu.Lock()
	defer ps.mu.Unlock()
	delete(ps.all, p)
	ps.releaseSlot(p)
}

// ofSession finds the process of a session in any state; nil = none.
func (ps *processes) ofSession(session string) *Process {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for p := range ps.all {
		if p.spec.Session == session && p.alive() {
			return p
		}
	}
	return nil
}

// stopFor stops the background tasks that were started for someone.
func (ps *processes) stopFor(someone string) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for p := range ps.all {
		p.out.unasked.stopFor(someone)
	}
}

// stats are the numbers of running, yielded and started processes.
func (ps *processes) stats() PoolStats {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return ps.count
}

// started is the number of processes that have started.
func (ps *processes) started() (n int) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for p := range ps.all {
		select {
		case <-p.out.ready:
			n++
		default:
		}
	}
	return n
}

// addRunning changes the number of running processes.
func (ps *processes) addRunning(more int) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.count.Running += more
}

// yield releases the slot of a process whose turn waits for people, unless it has none any more or that many turns have
// yielded. It reports whether it has.
func (ps *processes) yield(p *Process, most int) bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if p.slot.yielded || ps.count.Yielded >= most {
		return false
	}
	p.slot.yielded = true
	ps.count.Yielded++
	ps.count.Running--
	ps.releaseSlot(p)
	return true
}

// endYield gives a yielded process a slot again if one is free, and reports whether it had yielded.
func (ps *processes) endYield(p *Process) bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if !p.slot.yielded {
		return false
	}
	p.slot.yielded = false
	p.slot.held = ps.slots.processes.TryAcquire(1)
	ps.count.Yielded--
	ps.count.Running++
	return true
}

// hasSlot reports whether a process holds a slot.
func (ps *processes) hasSlot(p *Process) bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return p.slot.held
}

// transferSlot leaves the slot of a process to the caller.
func (ps *processes) transferSlot(p *Process) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p.slot.held = false
}

// releaseSlot releases the slot of a process, if it has one. The caller holds mu.
func (ps *processes) releaseSlot(p *Process) {
	if p.slot.held {
		p.slot.held = false
		ps.slots.processes.Release(1)
	}
}

// close ends all processes with their descendants, and waits for their end. No more can start.
func (ps *processes) close() {
	ps.mu.Lock()
	ps.closed = true
	for p := range ps.all {
		p.out.unasked.setEndReason(EndClosed)
		ps.tasks.Go(func() { ps.terminate(context.Background(), p) })
	}
	ps.mu.Unlock()
	ps.tasks.Wait()
}
