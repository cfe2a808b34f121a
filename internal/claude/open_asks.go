package claude

import (
	"slices"
	"sync"

	"magpie/internal/claude/stream"
)

// openAsks are the unanswered permission requests of a run.
type openAsks struct {
	signal chan struct{} // a request was answered

	mu       sync.Mutex
	open     []stream.ToolAsk
	answered []stream.Event // events that the run has not reported yet
}

func newOpenAsks() *openAsks { return &openAsks{signal: make(chan struct{}, 1)} }

func (a *openAsks) add(q stream.ToolAsk) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open = append(a.open, q)
}

// remove removes a request and reports whether it was open.
func (a *openAsks) remove(id string) (stream.ToolAsk, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.open, func(q stream.ToolAsk) bool { return q.ID == id })
	if i < 0 {
		return stream.ToolAsk{}, false
	}
	q := a.open[i]
	a.open = slices.Delete(a.open, i, i+1)
	return q, true
}

// removeAll removes all requests that are open.
func (a *openAsks) removeAll() []stream.ToolAsk {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := a.open
	a.open = nil
	return list
}

// queueEvent queues an event for the run.
func (a *openAsks) queueEvent(ev stream.Event) {
	a.mu.Lock()
	a.answered = append(a.answered, ev)
	a.mu.Unlock()
	select {
	case a.signal <- struct{}{}:
	default: // the run is notified already
	}
}

// takeEvents returns each event once, in the order in which the requests were answered.
func (a *openAsks) takeEvents() []stream.Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := a.answered
	a.answered = nil
	return list
}

func (a *openAsks) anyOpen() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.open) > 0
}

// Answer answers a [stream.ToolAsk] of the running turn. It returns false and does nothing if the request was already answered
// or withdrawn. It may be called at any time, even while an event is being handled.
func (p *Process) Answer(id string, v stream.Decision) bool {
	r := p.out.currentRun()
	if r == nil {
		return false
	}
	q, ok := r.asks.remove(id)
	if !ok {
		return false
	}
	if v.Allow {
		r.asks.queueEvent(stream.ToolAllowed{ID: q.Use, Name: q.Name})
	} else {
		r.asks.queueEvent(stream.ToolDenied{ID: q.Use, Name: q.Name})
	}
	p.in.SendDecision(q, v) // last: the run must know the decision before the process can act on it
	return true
}
