package claude

import (
	"testing"
	"testing/synctest"
)

// A line that comes while a turn ends does not belong to it: the agent may begin a turn by itself at once.
func TestTheAgentBeginsWhileATurnEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newOutputRouter(nil)
		h.unasked = UnaskedWork{allowed: true, tasks: newTasks(), asks: map[string]bool{}}
		begun := false
		h.unasked.Watch(Watcher{Woken: func() { begun = true }})
		r := &run{lines: make(chan []byte), done: make(chan struct{})}
		h.attach(r)
		go h.deliver([]byte(`{"type":"system","subtype":"init"}`))
		synctest.Wait()
		h.detach(r)
		synctest.Wait()
		if !begun {
			t.Error("the turn that the agent has begun is lost")
		}
	})
}
