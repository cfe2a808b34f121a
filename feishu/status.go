package feishu

import (
	"errors"
	"sync"
	"time"

	"magpie/feishu/openapi"
)

// Status is the client's state at one moment.
type Status struct {
	Connected   bool
	Since       time.Time    // of the last change of Connected; zero before the first connection
	Reconnects  int64        // connections after the first
	Silent      SilentCounts // connections that ended because nothing arrived
	LastError   error        // why the last connection or attempt ended; nil = none did
	Hint        error        // what the operator must do before the client can connect; nil = nothing
	BotOpenID   string       // empty until the platform has reported it
	BotName     string       // as users see it
	CircuitOpen bool         // calls fail at once, because the HTTP API does not answer

	LastEvent  time.Time // when the last event arrived; zero before the first
	Events     int64     // events received, including presses
	Backfilled int64     // messages without an event that the backfill has found
	Calls      Calls
}

// SilentCounts counts connections that were closed because nothing arrived: after one unanswered ping, and at the SDK's
// own deadline, which is after two.
type SilentCounts struct{ Early, Late int64 }

// Calls counts the outcomes of calls to the HTTP API. Each attempt counts.
type Calls = openapi.Calls

// Status returns the client's state.
func (c *Client) Status() Status {
	c.state.mu.Lock()
	s := c.state.now
	c.state.mu.Unlock()
	s.CircuitOpen, s.Calls = c.CircuitOpen(), c.api.Calls()
	return s
}

// CircuitOpen reports whether calls fail at once with [openapi.ErrCircuitOpen], because several in a row got no reply.
func (c *Client) CircuitOpen() bool { return c.api.CircuitOpen() }

// state is the part of [Status] that describes the connection.
type state struct {
	mu        sync.Mutex
	now       Status
	connected int64
}

func (s *state) update(f func(*Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.now)
}

// setConnected records a new connection.
func (s *state) setConnected() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.Connected, s.now.Since, s.now.Hint = true, time.Now(), nil
	s.now.Reconnects = s.connected
	s.connected++
}

// setDisconnected records the loss of the connection and its reason.
func (s *state) setDisconnected(err error) {
	s.update(func(now *Status) {
		if now.Connected {
			now.Connected, now.Since = false, time.Now()
		}
		now.LastError = err
		now.Hint = hintFor(err)
	})
}

// hintFor tells the operator what to do about a permanent error.
func hintFor(err error) error {
	var e *openapi.Error
	if !isTerminal(err) || !errors.As(err, &e) {
		return nil
	}
	return e.Hint()
}

func (s *state) botID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now.BotOpenID
}

func (s *state) countEvent() {
	s.update(func(now *Status) { now.LastEvent, now.Events = time.Now(), now.Events+1 })
}
