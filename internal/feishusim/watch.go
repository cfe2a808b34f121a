package feishusim

import (
	"context"
	"iter"
)

// View is what a watcher can look at. It reads the current state of the double at each call.
type View struct {
	s       *Server
	version uint64
}

// Version grows with every change.
func (v *View) Version() uint64 { return v.version }

// Messages returns the messages of a chat in visible order.
func (v *View) Messages(chatID string) []Message { return v.s.Messages(chatID) }

// Message returns a message by its id.
func (v *View) Message(id string) (Message, bool) { return v.s.Message(id) }

// Chats returns all chats.
func (v *View) Chats() []Chat { return v.s.Chats() }

// Deliveries returns every push of an event so far.
func (v *View) Deliveries() []Delivery { return v.s.Deliveries() }

// Calls returns every HTTP request so far.
func (v *View) Calls() []Call { return v.s.Calls() }

// Violations returns every breach of a rule so far.
func (v *View) Violations() []Violation { return v.s.Violations() }

// Connections returns the number of open long connections.
func (v *View) Connections() int { return v.s.Connections() }

// Connected returns how many long connections there have been.
func (v *View) Connected() int { return v.s.Connected() }

// View returns a view of the current state.
func (s *Server) View() *View {
	version, _ := s.notify.current()
	return &View{s: s, version: version}
}

// Await returns when cond holds, or with ctx's cause. It checks again at every change, so tests need not sleep.
func (s *Server) Await(ctx context.Context, cond func(*View) bool) error {
	for v := range s.Changes(ctx) {
		if cond(v) {
			return nil
		}
	}
	return context.Cause(ctx)
}

// Changes yields a view now and after changes until ctx ends. Changes during the loop's body are combined: a slow
// reader sees the latest state, not every one.
func (s *Server) Changes(ctx context.Context) iter.Seq[*View] {
	return func(yield func(*View) bool) {
		for {
			version, changed := s.notify.current()
			if !yield(&View{s: s, version: version}) {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}
}
