package feishusim

// eventSource pushes events: about changes of the world, and others.
type eventSource struct {
	world *world
	hub   *hub
}

// act changes the world and then pushes the event that f returns, if any.
func (s *eventSource) act(f func(w *world) *event) {
	ev := func() *event {
		s.world.mu.Lock()
		defer s.world.mu.Unlock()
		return f(s.world)
	}()
	s.world.notify.bump()
	if ev != nil {
		s.hub.push(ev)
	}
}

// Redeliver pushes a user's message again, as the platform may do even after an ack: the same event, or with newEventID
// another event of the same message.
func (s *eventSource) Redeliver(messageID string, newEventID bool) {
	s.act(func(w *world) *event {
		ev := w.messages.must(messageID).event
		if ev == nil {
			panic("feishusim: no event told of " + messageID)
		}
		if newEventID {
			return ev.renamed(randomHex(16))
		}
		return ev
	})
}

// Emit pushes an event of any type with this body, if there is no method for it.
func (s *eventSource) Emit(eventType string, body any) {
	s.act(func(w *world) *event { return w.newEvent(eventType, "", body) })
}

// EmitPayload pushes an event with arbitrary payload bytes, and returns the ID of the event.
func (s *eventSource) EmitPayload(payload []byte) (eventID string) {
	ev := &event{id: randomHex(16), payload: payload}
	s.hub.push(ev)
	return ev.id
}
