package feishu

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	"github.com/rs/zerolog"
)

// A connection whose peer has disappeared looks like an idle one. Two things tell them apart: the peer's TCP answers
// keep-alive probes, and the platform answers each ping of the SDK.

// keepAliveProbes detect within half a minute (15 s, then three probes of 5 s) that a network or a machine is gone.
var keepAliveProbes = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}

// keepAliveDialer dials connections that end when a ping is not answered, as the watchdog decides, and that are read
// only as fast as the event limiter allows.
func keepAliveDialer(eventLimiter *eventLimiter, watchdog *watchdog) *websocket.Dialer {
	d := &net.Dialer{Timeout: 10 * time.Second, KeepAliveConfig: keepAliveProbes, Control: setUserTimeout}
	return &websocket.Dialer{
		Proxy: http.ProxyFromEnvironment, HandshakeTimeout: 20 * time.Second,
		NetDialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := d.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return &deadlineConn{Conn: c, eventLimiter: eventLimiter, watchdog: watchdog}, nil
		},
	}
}

// deadlineConn shortens the SDK's read deadline, and slows down a reader that is too fast.
type deadlineConn struct {
	net.Conn
	eventLimiter *eventLimiter
	watchdog     *watchdog
	deadline     atomic.Int32 // which deadline applies to the next read
}

// The deadlines of a read.
const (
	noDeadline    int32 = iota
	earlyDeadline       // after one missing answer to a ping
	lateDeadline        // the SDK's own: after two
)

// SetReadDeadline is called by the SDK after each frame, before it handles the frame. t is the time at which the answer
// to the second next ping is 5 s late (ws/client_session.go, pongWait). One missing answer is enough for us: a
// reconnect loses nothing.
func (c *deadlineConn) SetReadDeadline(t time.Time) error {
	wait := time.Until(t)
	if wait > 0 {
		c.eventLimiter.waitForRoom()
	}
	wait, deadline := c.watchdog.readTimeout(wait)
	c.deadline.Store(deadline)
	return c.Conn.SetReadDeadline(time.Now().Add(wait))
}

// Read reports a read deadline that has passed to the watchdog.
func (c *deadlineConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.watchdog.recordExpired(c.deadline.Load())
	}
	return n, err
}

// maxEarlyCuts is how many connections in a row may end at the early deadline.
const maxEarlyCuts = 2

// watchdog decides how long a connection may be silent. The early deadline relies on an answer to every ping. If
// connections repeatedly end at it although the platform can be reached at once each time, something on the path does
// not answer every ping; from then on only the SDK's own deadline applies.
type watchdog struct {
	state *state
	log   zerolog.Logger

	mu    sync.Mutex
	early bool // the connection ended at the early deadline
	inRow int  // consecutive connections that ended that way
}

// readTimeout returns how long a read may wait, given the SDK's own timeout, and by which deadline.
func (w *watchdog) readTimeout(sdk time.Duration) (time.Duration, int32) {
	interval := (sdk - pongGrace) / 2
	if interval <= 0 {
		return sdk, noDeadline // also a deadline in the past, which ends a read at once
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.inRow >= maxEarlyCuts {
		return sdk, lateDeadline
	}
	return earlyTimeout(interval), earlyDeadline
}

// recordExpired records the deadline at which a connection ended.
func (w *watchdog) recordExpired(deadline int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.early = deadline == earlyDeadline
	w.state.update(func(now *Status) {
		switch deadline {
		case earlyDeadline:
			now.Silent.Early++
		case lateDeadline:
			now.Silent.Late++
		}
	})
}

// recordEnd evaluates the end of an attempt to connect. If the network itself failed, the early deadline is not to
// blame.
func (w *watchdog) recordEnd(connected bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	early := w.early && connected
	w.early = false
	switch {
	case w.inRow >= maxEarlyCuts: // permanent
	case !early:
		w.inRow = 0
	default:
		if w.inRow++; w.inRow == maxEarlyCuts {
			w.log.Warn().Msg("feishu: not every ping is answered; a silent connection is detected later from now on")
		}
	}
}

// pongGrace is the SDK's read deadline minus two ping intervals.
const pongGrace = 5 * time.Second

// earlyTimeout is one ping interval, and a quarter of it (1 to 10 s) for the answer.
func earlyTimeout(interval time.Duration) time.Duration {
	return interval + min(max(interval/4, time.Second), 10*time.Second)
}
