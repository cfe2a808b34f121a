package claude

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// quietPeriod is how long the chats must be quiet before a background task runs, if nothing else is configured.
const quietPeriod = 3 * time.Second

// backgroundTasks are requests to the agent outside of all chats, such as summaries. Usually nobody waits for them, so
// they give way to turns.
type backgroundTasks struct {
	tickets chan struct{} // one for each task that runs or waits for a quiet moment

	mu           sync.Mutex
	lastActivity time.Time         // time of the last activity in any chat
	running      []*backgroundTask // those that hold a slot; the newest is preempted first
}

// backgroundTask is a task whose slot a turn may take.
type backgroundTask struct {
	cancel context.CancelCauseFunc
	wanted <-chan struct{} // closed when somebody waits for the reply; then it is not preempted
}

func newBackgroundTasks(l Limits) *backgroundTasks {
	return &backgroundTasks{tickets: make(chan struct{}, max(1, l.Turns/4)), lastActivity: time.Now()}
}

// noteActivity restarts the quiet period.
func (qs *backgroundTasks) noteActivity() {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.lastActivity = time.Now()
}

// untilQuiet is the time until the chats have been quiet for that long, if nothing happens until then.
func (qs *backgroundTasks) untilQuiet(pause time.Duration) time.Duration {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	return pause - time.Since(qs.lastActivity)
}

// preempt cancels the newest task for which nobody waits, and reports whether there was one. Its slot becomes free when
// its process has ended.
func (qs *backgroundTasks) preempt() bool {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	for i, g := range slices.Backward(qs.running) {
		select {
		case <-g.wanted:
		default:
			g.cancel(errPreempted)
			qs.running = slices.Delete(qs.running, i, i+1)
			return true
		}
	}
	return false
}

// tryStart adds g to the running tasks if it gets a slot. Both happen under one lock, so that a turn that finds no free
// slot finds the task that it can preempt.
func (qs *backgroundTasks) tryStart(g *backgroundTask, place func() bool) bool {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if !place() {
		return false
	}
	qs.running = append(qs.running, g)
	return true
}

func (qs *backgroundTasks) finish(g *backgroundTask) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.running = slices.DeleteFunc(qs.running, func(other *backgroundTask) bool { return other == g })
}

// errWanted says that somebody started to wait for the reply of a task that waits for a quiet moment.
var errWanted = errors.New("somebody waits for the answer")

// waitUntilQuiet waits until nothing has happened in the chats for a while and a slot for g is free, and takes that
// slot. The caller calls done afterwards.
func (pl *Pool) waitUntilQuiet(ctx context.Context, g *backgroundTask, pause time.Duration) (done func(), err error) {
	qs := pl.background
	// One task at a time waits for quiet; otherwise several would start at the same moment, just when people are back.
	select {
	case qs.tickets <- struct{}{}:
	case <-g.wanted:
		return nil, errWanted
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	done = func() { <-qs.tickets }
	t := time.NewTimer(max(0, qs.untilQuiet(pause)))
	defer t.Stop()
	for {
		select {
		case <-t.C:
			left := qs.untilQuiet(pause)
			if left <= 0 && qs.tryStart(g, pl.tryTakeSpareSlot) {
				return done, nil
			}
			// If it is quiet but no slot is free, it looks again after the pause.
			t.Reset(cmp.Or(max(0, left), pause))
		case <-g.wanted:
			done()
			return nil, errWanted
		case <-ctx.Done():
			done()
			return nil, context.Cause(ctx)
		}
	}
}

// tryTakeSpareSlot takes a process slot if one is free, no turn waits, and memory allows another process.
func (pl *Pool) tryTakeSpareSlot() bool {
	return pl.slots.waiting() == 0 && !pl.limits.tight(1) && pl.slots.processes.TryAcquire(1)
}
