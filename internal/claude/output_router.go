package claude

import (
	"sync"

	"github.com/tidwall/gjson"
)

// outputRouter is where the lines that a process says go: to the turn that runs.
type outputRouter struct {
	in *input // of the process

	begun func()          // says, once, that the process has started
	ready <-chan struct{} // closed then

	mu   sync.Mutex
	turn *run // nil between turns
	// between turns: the process works unasked, since a background task has ended
	busy      bool
	responses map[string]chan<- gjson.Result // who waits for the response to a request, by its id
}

func newOutputRouter(in *input) *outputRouter {
	ready := make(chan struct{})
	return &outputRouter{in: in, begun: sync.OnceFunc(func() { close(ready) }), ready: ready, responses: map[string]chan<- gjson.Result{}}
}

// deliver hands a line to who waits for it, or to the turn that runs.
func (h *outputRouter) deliver(line []byte) {
	h.begun()
	if h.respond(line) {
		return
	}
	h.mu.Lock()
	r := h.turn
	if r == nil {
		h.discardBetweenTurns(line)
	}
	h.mu.Unlock()
	if r == nil {
		return
	}
	select {
	case r.lines <- line:
	case <-r.done:
	}
}

// discardBetweenTurns is for what the process says between turns, unasked: the end of a background task may have woken
// it. Nobody listens, but a question must be answered or it waits for ever. The caller holds mu.
func (h *outputRouter) discardBetweenTurns(line []byte) {
	if q, ok := toolAsk(line); ok {
		h.in.refuse(q)
		return
	}
	switch kind := gjson.GetBytes(line, "type").String(); {
	case kind == "system" && gjson.GetBytes(line, "subtype").String() == "init":
		h.busy = true
	case kind == "result":
		h.busy = false
	}
}

// expect has the response to a request delivered to the channel, which has room for it.
func (h *outputRouter) expect(id string, to chan<- gjson.Result) (forget func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.responses[id] = to
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.responses, id)
	}
}

// respond delivers a line that is the response to a request for which somebody waits.
func (h *outputRouter) respond(line []byte) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.responses) == 0 || gjson.GetBytes(line, "type").String() != "control_response" {
		return false
	}
	response := gjson.GetBytes(line, "response")
	id := response.Get("request_id").String()
	to, ok := h.responses[id]
	if ok {
		delete(h.responses, id)
		to <- response
	}
	return ok
}

// works reports whether the process works unasked.
func (h *outputRouter) works() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.busy
}

// running is the turn that runs; nil between turns.
func (h *outputRouter) running() *run {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.turn
}

func (h *outputRouter) attach(r *run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.turn = r
}

func (h *outputRouter) detach(r *run) {
	h.mu.Lock()
	h.turn = nil
	h.mu.Unlock()
	close(r.done)
}
