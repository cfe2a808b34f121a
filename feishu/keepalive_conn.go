package feishu

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/gorilla/websocket"
)

// A connection whose peer has disappeared looks like a quiet one. Two things tell them apart: the peer's TCP answers
// keep-alive probes, and the platform answers each ping of the SDK.

// keepAliveProbes detect within half a minute (15 s, then three probes of 5 s) that a network or a machine is gone.
var keepAliveProbes = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}

// keepAliveDialer dials connections that end when a ping is not answered, and that are read only as fast as the event
// limiter allows.
func keepAliveDialer(eventLimiter *eventLimiter) *websocket.Dialer {
	d := &net.Dialer{Timeout: 10 * time.Second, KeepAliveConfig: keepAliveProbes, Control: setUserTimeout}
	return &websocket.Dialer{
		Proxy: http.ProxyFromEnvironment, HandshakeTimeout: 20 * time.Second,
		NetDialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := d.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return deadlineConn{c, eventLimiter}, nil
		},
	}
}

// deadlineConn shortens the SDK's read deadline, and slows down a reader that is too fast.
type deadlineConn struct {
	net.Conn
	eventLimiter *eventLimiter
}

// SetReadDeadline is called by the SDK after each frame, before it handles the frame. t is the time at which the answer
// to the second next ping is 5 s late (ws/client_session.go, pongWait). One missing answer is enough for us: a
// reconnect loses nothing.
func (w deadlineConn) SetReadDeadline(t time.Time) error {
	wait := time.Until(t)
	if wait > 0 {
		w.eventLimiter.waitForRoom()
	}
	now := time.Now()
	return w.Conn.SetReadDeadline(now.Add(readTimeout(wait)))
}

// pongGrace is the SDK's read deadline minus two ping intervals.
const pongGrace = 5 * time.Second

// readTimeout is how long a read may wait, given the SDK's own timeout: one ping interval, and a quarter of it (1 to 10
// s) for the answer.
func readTimeout(sdk time.Duration) time.Duration {
	interval := (sdk - pongGrace) / 2
	if interval <= 0 {
		return sdk // also a deadline in the past, which ends a read at once
	}
	return interval + min(max(interval/4, time.Second), 10*time.Second)
}
