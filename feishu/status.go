package feishu

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
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
type Calls struct {
	OK      int64
	Refused int64 // as they were, the platform did not take them
	Limited int64 // there were too many of them
	Unknown int64 // no answer that tells: they may have been done
}

// Status tells how the client is.
func (c *Client) Status() Status {
	c.state.mu.Lock()
	s := c.state.now
	c.state.mu.Unlock()
	s.Away, s.Calls = c.Away(), c.api.tally.now()
	return s
}

// Away reports whether calls fail at once with [errAway], because several in a row had no answer.
func (c *Client) Away() bool { return c.api.breaker.away() }

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
	var e *Error
	if !terminal(err) || !errors.As(err, &e) {
		return ""
	}
	return hintOf(e.Code)
}

func (s *state) bot() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now.BotOpenID
}

func (s *state) event() {
	s.change(func(now *Status) { now.LastEvent, now.Events = time.Now(), now.Events+1 })
}

// tally counts calls by what became of them.
type tally struct{ ok, refused, limited, unknown atomic.Int64 }

func (t *tally) count(err error) {
	var e *Error
	switch {
	case err == nil:
		t.ok.Add(1)
	case !errors.As(err, &e): // the caller gave it up
	case verdictOf(err) == unknown:
		t.unknown.Add(1)
	case verdictOf(err) == limited:
		t.limited.Add(1)
	default:
		t.refused.Add(1)
	}
}

func (t *tally) now() Calls {
	return Calls{OK: t.ok.Load(), Refused: t.refused.Load(), Limited: t.limited.Load(), Unknown: t.unknown.Load()}
}
