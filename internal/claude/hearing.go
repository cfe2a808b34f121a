package claude

import (
	"sync"

	"github.com/tidwall/gjson"
)

// hearing is where the lines that a process says go: to the turn that runs.
type hearing struct {
	in *input // of the process

	mu   sync.Mutex
	turn *run // nil between turns
	busy bool // between turns: the process works unasked, since a background task has ended
}

// deliver hands a line to the turn that runs.
func (h *hearing) deliver(line []byte) {
	h.mu.Lock()
	r := h.turn
	if r == nil {
		h.overhear(line)
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

// overhear is for what the process says between turns, unasked: the end of a background task may have woken it. Nobody
// listens, but a question must be answered or it waits for ever. The caller holds mu.
func (h *hearing) overhear(line []byte) {
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

// works reports whether the process works unasked.
func (h *hearing) works() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.busy
}

// running is the turn that runs; nil between turns.
func (h *hearing) running() *run {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.turn
}

func (h *hearing) attach(r *run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.turn = r
}

func (h *hearing) detach(r *run) {
	h.mu.Lock()
	h.turn = nil
	h.mu.Unlock()
	close(r.done)
}
