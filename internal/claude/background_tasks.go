package claude

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// quietPeriod is the default of how long the chats must be quiet before a background task runs.
const quietPeriod = 3 * time.Second

// backgroundTasks are requests to the agent outside all chats, such as summaries. Usually nobody is waiting for them,
// so they give way to turns.
type backgroundTasks struct {
	slots   *slots
	limits  Limits
	tickets chan struct{} // one for each task that runs or waits for a quiet moment

	mu           sync.Mutex
	lastActivity time.Time         // time of the last activity in any chat
	running      []*backgroundTask // those with a slot; the newest is preempted first
}

// backgroundTask is a task whose slot a turn may take.
type backgroundTask struct {
	cancel context.CancelCauseFunc
	wanted <-chan struct{} // closed when somebody waits for the reply; then the task is not preempted
}

func newBackgroundTasks(l Limits, s *slots) *backgroundTasks {
	return &backgroundTasks{
		slots: s, limits: l, tickets: make(chan struct{}, max(1, l.MaxTurns/4)), lastActivity: time.Now(),
	}
}

// noteActivity restarts the quiet period.
func (bt *backgroundTasks) noteActivity() {
	bt.mu.Lock()
	defer bt.mu.Unlock()
	bt.lastActivity = time.Now()
}

// untilQuiet is the time until the chats have been quiet for that long, if there is no activity until then.
func (bt *backgroundTasks) untilQuiet(pause time.Duration) time.Duration {
	bt.mu.Lock()
	defer bt.mu.Unlock()
	return pause - time.Since(bt.lastActivity)
}

// preempt cancels the newest task that nobody is waiting for, and reports whether there was one. Its slot becomes free
// when its process has ended.
func (bt *backgroundTasks) preempt() bool {
	bt.mu.Lock()
	defer bt.mu.Unlock()
	for i, g := range slices.Backward(bt.running) {
		select {
		case <-g.wanted:
		default:
			g.cancel(errPreempted)
			bt.running = slices.Delete(bt.running, i, i+1)
			return true
		}
	}
	return false
}

// tryStart adds g to the running tasks if it gets a spare slot. Both happen under one lock, so that a turn that finds
// no free slot finds the task to preempt.
func (bt *backgroundTasks) tryStart(g *backgroundTask) bool {
	bt.mu.Lock()
	defer bt.mu.Unlock()
	if !bt.tryAcquireSpare() {
		return false
	}
	bt.running = append(bt.running, g)
	return true
}

func (bt *backgroundTasks) finish(g *backgroundTask) {
	bt.mu.Lock()
	defer bt.mu.Unlock()
	bt.running = slices.DeleteFunc(bt.running, func(other *backgroundTask) bool { return other == g })
}

// errWanted means that somebody started to wait for the reply of a task that waits for a quiet moment.
var errWanted = errors.New("somebody waits for the answer")

// waitUntilQuiet waits until the chats have been quiet for a while and a slot for g is free, and takes that slot. The
// caller calls done afterwards.
func (bt *backgroundTasks) waitUntilQuiet(ctx context.Context, g *backgroundTask, pause time.Duration,
) (done func(), err error) {
	select {
	case bt.tickets <- struct{}{}:
	case <-g.wanted:
		return nil, errWanted
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	done = func() { <-bt.tickets }
	t := time.NewTimer(max(0, bt.untilQuiet(pause)))
	defer t.Stop()
	for {
		select {
		case <-t.C:
			left := bt.untilQuiet(pause)
			if left <= 0 && bt.tryStart(g) {
				return done, nil
			}
			// If it is quiet but no slot is free, it tries again after the pause.
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

// tryAcquireSpare acquires a process slot if one is free, no turn waits, and memory allows another process.
func (bt *backgroundTasks) tryAcquireSpare() bool { return bt.tryAcquireSpareOf(1) }

// tryAcquireSpareOf is tryAcquireSpare that requires that many free slots.
func (bt *backgroundTasks) tryAcquireSpareOf(free int64) bool {
	return bt.slots.waiting() == 0 && bt.tryAcquireOf(free)
}

// tryAcquireOf acquires a process slot if that many are free, even if turns are waiting, and memory allows as many
// processes.
func (bt *backgroundTasks) tryAcquireOf(free int64) bool {
	if bt.limits.memoryTight(free) || !bt.slots.tryAcquireProcesses(free) {
		return false
	}
	bt.slots.processes.Release(free - 1)
	return true
}
