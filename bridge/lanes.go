package bridge

import (
	"context"
	"errors"
	"sync"

	"magpie/internal/chat"
)

// errStopped is the cause with which a user stops a turn.
var errStopped = errors.New("stopped by a user")

// jobs is work that handlers leave to the bridge's own Run, in whose context it is done.
type jobs struct {
	mu     sync.Mutex
	list   []func(context.Context)
	signal chan struct{}
}

// add leaves a job. It never blocks.
func (j *jobs) add(f func(context.Context)) {
	j.mu.Lock()
	j.list = append(j.list, f)
	j.mu.Unlock()
	select {
	case j.signal <- struct{}{}:
	default: // Run has been told already
	}
}

// run starts every job, each in its own goroutine, until ctx is done, and waits for those it started.
func (j *jobs) run(ctx context.Context) {
	var tasks sync.WaitGroup
	defer tasks.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-j.signal:
		}
		j.mu.Lock()
		list := j.list
		j.list = nil
		j.mu.Unlock()
		for _, f := range list {
			tasks.Go(func() { f(ctx) })
		}
	}
}

// lanes holds one lane for every chat that has work. One turn at a time runs in each.
type lanes struct {
	mu     sync.Mutex
	byChat map[chat.Key]*lane
}

// lane is the work of one chat.
type lane struct {
	again bool                    // work arrived since the lane last looked
	turn  int64                   // the one that runs; 0 = none
	stop  context.CancelCauseFunc // ends it
}

// enter reports whether the caller is the one to work for the chat. If not, the one who does looks again.
func (ls *lanes) enter(key chat.Key) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l := ls.byChat[key]; l != nil {
		l.again = true
		return false
	}
	ls.byChat[key] = &lane{}
	return true
}

// leave ends the lane unless work arrived since it last looked.
func (ls *lanes) leave(key chat.Key) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l := ls.byChat[key]; l.again {
		l.again = false
		return false
	}
	delete(ls.byChat, key)
	return true
}

// begin notes the turn that runs, and how to stop it.
func (ls *lanes) begin(key chat.Key, turn int64, stop context.CancelCauseFunc) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.byChat[key].turn, ls.byChat[key].stop = turn, stop
}

// end notes that no turn runs.
func (ls *lanes) end(key chat.Key) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.byChat[key].turn, ls.byChat[key].stop = 0, nil
}

// stop ends the turn that runs in the chat, if it is the one that is meant; 0 means whichever.
func (ls *lanes) stop(key chat.Key, turn int64) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.byChat[key]
	if l == nil || l.stop == nil || (turn != 0 && turn != l.turn) {
		return false
	}
	l.stop(errStopped)
	return true
}

// running reports whether a turn runs in the chat.
func (ls *lanes) running(key chat.Key) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.byChat[key]
	return l != nil && l.stop != nil
}
