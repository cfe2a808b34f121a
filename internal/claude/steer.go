package claude

import (
	"slices"
	"sync"
)

// Steer passes another user message to the running turn. The agent reads it when the running tool has ended, or else at
// the end of its answer, which then continues; a [stream.Steered] event reports it. Until then the turn does not end, unless
// it fails or is stopped; then the agent never reads the message.
//
// id is a UUID as for [Process.Run]. Steer returns false and does nothing if no running turn will read the message. It
// may be called at any time, even while an event is being handled.
func (p *Process) Steer(id, text string) bool {
	r := p.out.currentRun()
	return r != nil && r.steers.send(id, func() { p.in.SendPrompt(id, text, nil) })
}

// steers are the messages that were passed to a run.
type steers struct {
	mu     sync.Mutex
	taking bool     // the prompt was sent, and the turn has not ended
	unread []string // their IDs
}

// turnStarted starts accepting messages: the prompt was sent.
func (s *steers) turnStarted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taking = true
}

func (s *steers) send(id string, send func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.taking {
		return false
	}
	s.unread = append(s.unread, id)
	send()
	return true
}

// markRead records that the agent reads a message, and reports whether it was one of these.
func (s *steers) markRead(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.unread, id)
	if i < 0 {
		return false
	}
	s.unread = slices.Delete(s.unread, i, i+1)
	return true
}

// turnEnded stops accepting messages, unless the agent will read some first.
func (s *steers) turnEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taking = s.taking && len(s.unread) > 0
	return !s.taking
}

// close stops accepting messages, and reports whether the CLI still has some.
func (s *steers) close() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taking = false
	return len(s.unread) > 0
}
