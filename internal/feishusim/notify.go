package feishusim

import (
	"sync"
	"time"
)

// notifier wakes all watchers of the double whenever something visible has changed.
type notifier struct {
	mu      sync.Mutex
	version uint64
	changed chan struct{} // closed and replaced at every change
}

func newNotifier() *notifier {
	return &notifier{changed: make(chan struct{})}
}

func (n *notifier) bump() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.version++
	// Closing the channel wakes all watchers at once; none can miss a change between two receives, as with
	// a buffered channel of one.
	close(n.changed)
	n.changed = make(chan struct{})
}

// current returns the version and a channel that is closed by the next change.
func (n *notifier) current() (uint64, <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.version, n.changed
}

// alarms runs functions later and can be closed: then no function starts any more, and none is still running.
type alarms struct {
	mu      sync.Mutex
	closed  bool
	pending map[*alarm]struct{}
	running sync.WaitGroup
}

type alarm struct{ timer *time.Timer }

func newAlarms() *alarms {
	return &alarms{pending: make(map[*alarm]struct{})}
}

// after runs f in d unless stop or close come first.
func (as *alarms) after(d time.Duration, f func()) (stop func()) {
	as.mu.Lock()
	defer as.mu.Unlock()
	if as.closed {
		return func() {}
	}
	a := new(alarm)
	as.pending[a] = struct{}{}
	a.timer = time.AfterFunc(d, func() {
		// A timer that has fired cannot be stopped, so the claim decides whether it may still run.
		if as.claim(a) {
			defer as.running.Done()
			f()
		}
	})
	return func() {
		as.mu.Lock()
		defer as.mu.Unlock()
		a.timer.Stop()
		delete(as.pending, a)
	}
}

// claim reports whether the alarm may run its function, and counts it as running.
func (as *alarms) claim(a *alarm) bool {
	as.mu.Lock()
	defer as.mu.Unlock()
	if _, ok := as.pending[a]; !ok {
		return false
	}
	delete(as.pending, a)
	as.running.Add(1)
	return true
}

// close stops all timers and then waits for the functions that are running; the lock must be free for
// them meanwhile.
func (as *alarms) close() {
	as.mu.Lock()
	as.closed = true
	for a := range as.pending {
		a.timer.Stop()
	}
	clear(as.pending)
	as.mu.Unlock()
	as.running.Wait()
}
