package claude

import (
	"bytes"
	"slices"
	"sync"

	"github.com/tidwall/gjson"
)

// Steer hands another message of the user to the turn that runs. The agent reads it when the tool that runs has ended,
// or else at the end of its answer, which then goes on: [Steered] tells. Until then the turn does not end, unless it
// fails or is stopped; then the agent never reads the message.
//
// id is a UUID as for [Process.Run]. Steer returns false, and does nothing, if no turn runs that will read the message.
// It may be called at any time, also while an event is being handled.
func (p *Process) Steer(id, text string) bool {
	r := p.out.currentRun()
	return r != nil && r.steers.send(id, func() { p.in.sendPrompt(id, text, nil) })
}

// steers are the messages that were handed to a run.
type steers struct {
	mu     sync.Mutex
	taking bool     // the prompt was sent, and the turn has not ended
	unread []string // their ids
}

// turnStarted has messages taken: the prompt was sent.
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

// read notes that the agent reads a message, and reports whether it was one of these.
func (s *steers) read(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.unread, id)
	if i < 0 {
		return false
	}
	s.unread = slices.Delete(s.unread, i, i+1)
	return true
}

// turnEnded has no more messages taken, unless there are some that the agent will read first.
func (s *steers) turnEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taking = s.taking && len(s.unread) > 0
	return !s.taking
}

// abandon has no more messages taken, and reports whether the CLI still has some.
func (s *steers) abandon() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taking = false
	return len(s.unread) > 0
}

// replayed returns the id of the message of the user that the agent reads now, if a line says so. The CLI repeats each
// message then, which --replay-user-messages asks for (2.1.197 and 2.1.330).
func replayed(line []byte) (id string, ok bool) {
	if !bytes.Contains(line, []byte(`"isReplay":true`)) {
		return "", false
	}
	v := gjson.ParseBytes(line)
	return v.Get("uuid").String(), v.Get("type").String() == "user" && v.Get("isReplay").Bool()
}
