package feishu

import (
	"errors"
	"sync"
	"time"

	"magpie/feishu/openapi"
)

// Status is how the client is, at one moment.
type Status struct {
	Connected  bool
	Since      time.Time // of the last change of Connected; zero before the first connection
	Reconnects int64     // connections after the first
	LastError  error     // why the last connection or attempt ended; nil when none did
	Hint       string    // what the operator must do before it can connect; empty when there is nothing
	BotOpenID  string    // empty until the platform told
	Away       bool      // the HTTP API does not answer

	LastEvent time.Time // when the last event arrived; zero before the first
	Events    int64     // events that were handed over, messages and presses
	Repaired  int64     // messages that no event told of and that were found by asking
	Calls     Calls
}

// Calls counts what became of calls to the HTTP API, tries each by itself.
type Calls = openapi.Calls

// Status tells how the client is.
func (c *Client) Status() Status {
	c.state.mu.Lock()
	s := c.state.now
	c.state.mu.Unlock()
	s.Away, s.Calls = c.Away(), c.api.Calls()
	return s
}

// Away reports whether calls fail at once with [openapi.ErrCircuitOpen], because several in a row had no answer.
func (c *Client) Away() bool { return c.api.CircuitOpen() }

// state is what Status tells of the connection.
type state struct {
	mu        sync.Mutex
	now       Status
	connected int64
}

func (s *state) change(f func(*Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.now)
}

func (s *state) up() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.Connected, s.now.Since, s.now.Hint = true, time.Now(), ""
	s.now.Reconnects = s.connected
	s.connected++
}

// down notes that there is no connection, and why.
func (s *state) down(err error) {
	s.change(func(now *Status) {
		if now.Connected {
			now.Connected, now.Since = false, time.Now()
		}
		now.LastError = err
		now.Hint = adviceOn(err)
	})
}

// adviceOn says what the operator must do about an error that will not pass by itself.
func adviceOn(err error) string {
	var e *openapi.Error
	if !terminal(err) || !errors.As(err, &e) {
		return ""
	}
	return e.Hint()
}

func (s *state) bot() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now.BotOpenID
}

func (s *state) event() {
	s.change(func(now *Status) { now.LastEvent, now.Events = time.Now(), now.Events+1 })
}
