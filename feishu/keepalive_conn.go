package feishu

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/gorilla/websocket"
)

// A connection whose other end is gone without a word looks like a quiet one. Two things tell them apart: the other
// end's TCP answers probes, and the platform answers each ping of the SDK.

// probes find a network or a machine that is gone within half a minute.
var probes = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}

// watchingDialer dials connections that end when a ping is not answered, and that are read as fast as the event limiter
// allows.
func watchingDialer(eventLimiter *eventLimiter) *websocket.Dialer {
	d := &net.Dialer{Timeout: 10 * time.Second, KeepAliveConfig: probes, Control: limitSilence}
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

// deadlineConn brings the SDK's read deadline forward, and holds up a reader that is too fast.
type deadlineConn struct {
	net.Conn
	eventLimiter *eventLimiter
}

// SetReadDeadline is called by the SDK after each frame, before it starts to work on it, with the time at which the
// answer to the second next ping is 5 s late (ws/client_session.go, pongWait). One missing answer is enough: nothing
// else is lost by connecting anew.
func (w deadlineConn) SetReadDeadline(t time.Time) error {
	wait := time.Until(t)
	if wait > 0 {
		w.eventLimiter.frame()
	}
	now := time.Now()
	return w.Conn.SetReadDeadline(now.Add(patience(wait)))
}

// The SDK's read deadline is two ping intervals and this.
const pongGrace = 5 * time.Second

// patience is how long nothing may be read, where the SDK would wait for so long: one ping interval, and a quarter for
// the answer, within bounds.
func patience(sdk time.Duration) time.Duration {
	interval := (sdk - pongGrace) / 2
	if interval <= 0 {
		return sdk // also a deadline in the past, which ends a read at once
	}
	return interval + min(max(interval/4, time.Second), 10*time.Second)
}
