package claude

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// quiet is how long nothing goes on in the chats before the agent is asked apart from them, if nothing else is
// configured.
const quiet = 3 * time.Second

// backgroundTasks are what the agent is asked apart from the chats. Nobody waits for the answers, so they keep out of
// the way of turns.
type backgroundTasks struct {
	asked chan struct{} // one for each that is asked or waits for a quiet moment

	mu      sync.Mutex
	stirred time.Time         // when something went on in the chats last
	guests  []*backgroundTask // those that have a place among the processes; the one that came last goes first
}

// backgroundTask is a question that is asked, in a place that a turn may claim.
type backgroundTask struct {
	leave  context.CancelCauseFunc
	wanted <-chan struct{} // closed when somebody waits for the answer; then it stays
}

func newBackgroundTasks(l Limits) *backgroundTasks {
	return &backgroundTasks{asked: make(chan struct{}, max(1, l.Turns/4)), stirred: time.Now()}
}

// stir notes that something goes on in the chats.
func (qs *backgroundTasks) stir() {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.stirred = time.Now()
}

// left is how long it takes until it has been quiet for that long, if nothing goes on until then.
func (qs *backgroundTasks) left(pause time.Duration) time.Duration {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	return pause - time.Since(qs.stirred)
}

// giveWay has a question leave the place that a turn needs.
func (qs *backgroundTasks) giveWay() {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	for i, g := range slices.Backward(qs.guests) {
		select {
		case <-g.wanted:
		default:
			g.leave(errGaveWay)
			qs.guests = slices.Delete(qs.guests, i, i+1)
			return
		}
	}
}

func (qs *backgroundTasks) enter(g *backgroundTask) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.guests = append(qs.guests, g)
}

func (qs *backgroundTasks) exit(g *backgroundTask) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.guests = slices.DeleteFunc(qs.guests, func(other *backgroundTask) bool { return other == g })
}

// errWanted says that somebody waits for what a question waits to be asked.
var errWanted = errors.New("somebody waits for the answer")

// lull waits until nothing has gone on in the chats for a while, and takes a place for a process that is free then. The
// caller calls done afterwards.
func (pl *Pool) lull(ctx context.Context, q Task, pause time.Duration) (done func(), err error) {
	qs := pl.questions
	select {
	case qs.asked <- struct{}{}:
	case <-q.Wanted:
		return nil, errWanted
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	done = func() { <-qs.asked }
	t := time.NewTimer(max(0, qs.left(pause)))
	defer t.Stop()
	for {
		select {
		case <-t.C:
			left := qs.left(pause)
			if left <= 0 && pl.spare() {
				return done, nil
			}
			t.Reset(cmp.Or(max(0, left), pause))
		case <-q.Wanted:
			done()
			return nil, errWanted
		case <-ctx.Done():
			done()
			return nil, context.Cause(ctx)
		}
	}
}

// spare takes a place for a process if one is free that no turn needs.
func (pl *Pool) spare() bool {
	return pl.slots.waiting() == 0 && !pl.limits.tight(1) && pl.slots.processes.TryAcquire(1)
}
