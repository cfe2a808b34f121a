package claude

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tidwall/gjson"

	"magpie/internal/claude/stream"
)

// outputRouter passes the lines of a process to the running turn.
type outputRouter struct {
	in      *stream.Input     // of the process
	unknown func(kind string) // see [workspace.Config.Unknown]; may be nil
	words   stream.TailBuffer // the end of what is not of the protocol; for the goroutine that delivers

	said      atomic.Bool     // it has written a line of the protocol
	markReady func()          // marks the process as started
	ready     <-chan struct{} // closed by markReady

	mu   sync.Mutex
	turn *run // nil between turns
	// between turns: the process is working on its own after the end of a background task
	busy      bool
	responses map[string]chan<- gjson.Result // waiting callers, by request id

	suggestions suggestions
	unasked     UnaskedWork
}

func newOutputRouter(in *stream.Input) *outputRouter {
	ready := make(chan struct{})
	return &outputRouter{
		in: in, words: stream.TailBuffer{},
		markReady: sync.OnceFunc(func() { close(ready) }), ready: ready,
		responses: map[string]chan<- gjson.Result{},
	}
}

// deliver passes a line to the caller that waits for it, or to the running turn.
func (h *outputRouter) deliver(line []byte) {
	if !h.noteWords(line) {
		h.said.Store(true)
		h.markReady()
	}
	if h.handleUnknown(line) || h.deliverResponse(line) || h.suggestions.handleLine(line) || h.unasked.handlePermissionLine(line) {
		return
	}
	h.unasked.track(line)
	// Outside of the lock: the turn may read slowly, and control responses must still get through.
	for r := h.route(line); r != nil; r = h.route(line) {
		select {
		case r.lines <- line:
			return
		case <-r.done: // it has ended with an earlier line
		}
	}
}

// noteWords keeps what is no line of the protocol: words of a program around the CLI, or of one that is not the CLI.
func (h *outputRouter) noteWords(line []byte) bool {
	if len(line) == 0 || line[0] == '{' {
		return false
	}
	_, _ = h.words.Write(append(slices.Clip(line), '\n'))
	return true
}

// route returns the turn that gets a line. Between turns it handles the line and returns nil.
func (h *outputRouter) route(line []byte) *run {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.turn == nil {
		h.handleBetweenTurns(line)
	}
	return h.turn
}

// handleBetweenTurns handles a line that belongs to no running turn. The caller holds mu.
func (h *outputRouter) handleBetweenTurns(line []byte) {
	if !h.unasked.handleBetweenTurns(line) {
		h.discardBetweenTurns(line)
	}
}

// discardBetweenTurns handles output between turns that nobody reads: a subagent in the background may ask for
// permission, and waits forever without an answer. The caller holds mu.
func (h *outputRouter) discardBetweenTurns(line []byte) {
	if q, ok := stream.ReadToolAsk(line); ok {
		h.in.Refuse(q)
		return
	}
	switch kind := gjson.GetBytes(line, "type").String(); {
	case kind == "system" && gjson.GetBytes(line, "subtype").String() == "init":
		h.busy = true
	case kind == "result":
		h.busy = false
	}
}

// awaitResponse sends the response to a request to the channel, which must have room for it.
func (h *outputRouter) awaitResponse(id string, to chan<- gjson.Result) (forget func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.responses[id] = to
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.responses, id)
	}
}

// deliverResponse delivers a line if it is a response that a caller waits for.
func (h *outputRouter) deliverResponse(line []byte) bool {
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

// isBusy reports whether the process is working on its own between turns.
func (h *outputRouter) isBusy() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.busy
}

// currentRun is the running turn; nil between turns.
func (h *outputRouter) currentRun() *run {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.turn
}

// attach and detach bracket a turn; output outside of them belongs to no caller. attach returns the earlier output of a
// turn that the agent started by itself.
func (h *outputRouter) attach(r *run) (backlog [][]byte, woken bool) {
	h.suggestions.turnStarted()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.turn = r
	return h.unasked.attach()
}

// unread are the lines that came before the end of the turn and do not belong to it. Close done outside of the lock: a
// waiter may call back at once.
func (h *outputRouter) detach(r *run, unread ...[]byte) {
	h.mu.Lock()
	h.turn = nil
	h.unasked.detach()
	for _, line := range unread {
		h.handleBetweenTurns(line)
	}
	h.mu.Unlock()
	close(r.done)
}

// handleUnknown answers a request of the CLI that nobody here knows, or would never answer, with an error: otherwise its
// turn would wait for the answer until a timeout. It passes over other lines of an unknown kind. Both are reported. It
// returns whether the line needs nothing more.
func (h *outputRouter) handleUnknown(line []byte) bool {
	kind := stream.UnknownKind(line)
	if kind == "" {
		return false
	}
	if h.unknown != nil {
		h.unknown(kind)
	}
	what, isRequest := strings.CutPrefix(kind, stream.UnknownRequest)
	if isRequest {
		h.in.SendError(gjson.GetBytes(line, "request_id").String(), "not supported: "+what)
	}
	return isRequest
}
