package bridge

import (
	"context"
	"errors"
	"slices"
	"sync"

	"magpie/internal/chat"
)

// errStopped is the cause with which a user stops a turn.
var errStopped = errors.New("stopped by a user")

// jobs is work that handlers leave to the bridge's own Run, in whose context it is done: so much of it at the same
// time, first come, first served.
type jobs struct {
	most   int
	signal chan struct{}

	mu     sync.Mutex
	list   []func(context.Context)
	active int
}

func newJobs(most int) *jobs { return &jobs{most: most, signal: make(chan struct{}, 1)} }

// add leaves a job. It never blocks.
func (j *jobs) add(f func(context.Context)) {
	j.mu.Lock()
	j.list = append(j.list, f)
	j.mu.Unlock()
	j.wake()
}

func (j *jobs) wake() {
	select {
	case j.signal <- struct{}{}:
	default: // run has been told already
	}
}

// count tells how many jobs wait, and how many are being done.
func (j *jobs) count() (waiting, active int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.list), j.active
}

// run does every job, each in its own goroutine and with ctx. Once stop is closed it returns as soon as nothing is left
// to do.
func (j *jobs) run(ctx context.Context, stop <-chan struct{}) {
	stopping := false
	for {
		select {
		case <-stop:
			stopping, stop = true, nil
		case <-j.signal:
		}
		for _, f := range j.take() {
			go func() {
				defer j.done()
				f(ctx)
			}()
		}
		if waiting, active := j.count(); stopping && waiting+active == 0 {
			return
		}
	}
}

func (j *jobs) take() []func(context.Context) {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := min(len(j.list), j.most-j.active)
	list := j.list[:n]
	j.list = j.list[n:]
	j.active += n
	return list
}

func (j *jobs) done() {
	j.mu.Lock()
	j.active--
	j.mu.Unlock()
	j.wake()
}

// lanes holds one lane for every chat that has work of one kind. One piece at a time is done in each.
type lanes struct {
	mu     sync.Mutex
	byChat map[chat.Key]*lane
	closed bool // no new work is begun
}

// lane is the work of one chat.
type lane struct {
	again bool                    // work arrived since the lane last looked
	turn  int64                   // the one that runs; 0 = none
	stop  context.CancelCauseFunc // ends it
	waits bool                    // for a free process, or for people: nothing of it is lost when it stops
	ban   []int64                 // turns that are stopped as soon as they begin
}

// count tells how many chats have work.
func (ls *lanes) count() int {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return len(ls.byChat)
}

// enter reports whether the caller is the one to see to it that somebody works for the chat. If not, whoever does looks
// again.
func (ls *lanes) enter(key chat.Key) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l := ls.byChat[key]; l != nil {
		l.again = true
		return false
	}
	if ls.closed {
		return false
	}
	if ls.byChat == nil {
		ls.byChat = map[chat.Key]*lane{}
	}
	ls.byChat[key] = &lane{}
	return true
}

// leave ends the lane unless work arrived since it last looked.
func (ls *lanes) leave(key chat.Key) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l := ls.byChat[key]; l.again && !ls.closed {
		l.again = false
		return false
	}
	delete(ls.byChat, key)
	return true
}

// close lets no new work begin. What waits to be run, and what waits for people, stops waiting: neither would come to
// its end in the time that is left.
func (ls *lanes) close() {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.closed = true
	for _, l := range ls.byChat {
		if l.waits {
			l.stop(context.Canceled)
		}
	}
}

// wait notes whether the turn that runs in the chat waits for a free process or for people.
func (ls *lanes) wait(key chat.Key, waits bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.byChat[key]
	if l.waits = waits; waits && ls.closed {
		l.stop(context.Canceled)
	}
}

func (ls *lanes) closing() bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return ls.closed
}

// begin notes the turn that runs, and how to stop it.
func (ls *lanes) begin(key chat.Key, turn int64, stop context.CancelCauseFunc) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.byChat[key]
	if l.turn, l.stop = turn, stop; slices.Contains(l.ban, turn) {
		stop(errStopped)
	}
}

// end notes that no turn runs.
func (ls *lanes) end(key chat.Key) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.byChat[key]
	l.turn, l.stop, l.waits = 0, nil, false
}

// stop ends a turn, if it is the one that runs in the chat.
func (ls *lanes) stop(key chat.Key, turn int64) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.byChat[key]
	if l == nil || l.stop == nil || turn != l.turn {
		return false
	}
	l.stop(errStopped)
	return true
}

// halt stops turns that run, or that wait in the chat's lane to begin.
func (ls *lanes) halt(key chat.Key, turns ...int64) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.byChat[key]
	if l == nil { // they have ended
		return
	}
	if l.ban = append(l.ban, turns...); l.stop != nil && slices.Contains(turns, l.turn) {
		l.stop(errStopped)
	}
}

// place is the chat in which a turn runs; false = it does not run.
func (ls *lanes) place(turn int64) (chat.Key, bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for key, l := range ls.byChat {
		if l.turn == turn {
			return key, true
		}
	}
	return chat.Key{}, false
}

// running is the turn that runs in the chat; 0 = none.
func (ls *lanes) running(key chat.Key) int64 {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l := ls.byChat[key]; l != nil {
		return l.turn
	}
	return 0
}
