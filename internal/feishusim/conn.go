package feishusim

import (
	"net"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	larkws "github.com/larksuite/oapi-sdk-go/v3/ws"
)

// writeTimeout limits a write, so that a client that does not read loses its connection instead of blocking it.
const writeTimeout = 10 * time.Second

// conn is one long connection. Its frames are protobuf messages (oapi-sdk-go ws/pbbp2.pb.go).
type conn struct {
	hub     *hub
	sock    *websocket.Conn
	id      string // device_id of its URL
	service int32  // service_id of its URL, echoed in every frame
	pings   int    // received
	number  int    // among all connections so far, from 1

	out  chan [][]byte // frames that belong together, written in order
	once sync.Once
	gone chan struct{} // closed when it ends
}

func newConn(h *hub, sock *websocket.Conn, id string, service int32) *conn {
	return &conn{
		hub: h, sock: sock, id: id, service: service, out: make(chan [][]byte, 4096), gone: make(chan struct{}),
	}
}

// serve reads frames until the connection ends, and returns when its writer has ended, too.
func (c *conn) serve() {
	defer c.hub.work.Done()
	var writer sync.WaitGroup
	writer.Go(c.write)
	defer writer.Wait()
	defer c.close()
	for {
		kind, data, err := c.sock.ReadMessage()
		if err != nil {
			return
		}
		// A frozen hub acts like a half-open connection: frames are read and dropped, and no ping is
		// answered.
		if c.hub.isFrozen() {
			continue
		}
		var f larkws.Frame
		if kind != websocket.BinaryMessage {
			c.hub.rec.violate(RuleFrame, 0, "a message that is not binary")
		} else if err := f.Unmarshal(data); err != nil {
			c.hub.rec.violate(RuleFrame, 0, "frame: %v", err)
		} else {
			c.receive(&f)
		}
	}
}

// receive handles a frame of the client: pings and acknowledgements. Anything else breaks the protocol,
// since clients send nothing of their own.
func (c *conn) receive(f *larkws.Frame) {
	if f.Service != c.service {
		c.hub.rec.violate(RuleFrame, 0, "service %d, not the URL's service_id %d", f.Service, c.service)
	}
	kind := larkws.MessageType(larkws.Headers(f.Headers).GetString(larkws.HeaderType))
	switch {
	case f.Method == int32(larkws.FrameTypeControl) && kind == larkws.MessageTypePing:
		if c.pings++; c.hub.answers(c.pings) {
			c.pong(f)
		}
	case f.Method == int32(larkws.FrameTypeData) && kind == larkws.MessageTypeEvent:
		c.hub.acked(f)
	default:
		c.hub.rec.violate(RuleFrame, 0, "method %d type %q", f.Method, kind)
	}
}

// pong answers a ping; its payload is a new configuration for the client.
func (c *conn) pong(ping *larkws.Frame) {
	f := larkws.Frame{SeqID: ping.SeqID, LogID: ping.LogID, Service: c.service, Method: int32(larkws.FrameTypeControl),
		Headers: headers(larkws.HeaderType, string(larkws.MessageTypePong)), Payload: mustJSON(c.hub.cfg.client())}
	c.send(&f)
}

// send queues frames and reports whether there was room. It never blocks, because a slow client must not hold up the
// hub.
func (c *conn) send(frames ...*larkws.Frame) bool {
	batch := make([][]byte, len(frames))
	for i, f := range frames {
		b, err := f.Marshal()
		if err != nil {
			panic("feishusim: frame: " + err.Error()) // only frames of this package come here
		}
		batch[i] = b
	}
	select {
	case c.out <- batch:
		return true
	case <-c.gone:
		return false
	default:
		return false
	}
}

// write writes queued frames until the connection ends.
func (c *conn) write() {
	defer c.close()
	for {
		select {
		case <-c.gone:
			return
		case batch := <-c.out:
			for _, b := range batch {
				_ = c.sock.SetWriteDeadline(time.Now().Add(writeTimeout)) // the write reports a closed socket
				if c.sock.WriteMessage(websocket.BinaryMessage, b) != nil {
					return
				}
			}
		}
	}
}

// close closes the socket, which ends reader and writer. Both call it, and so may the hub, hence the Once.
func (c *conn) close() {
	c.once.Do(func() {
		c.hub.leave(c)
		close(c.gone)
		_ = c.sock.Close() // nothing to do about a failed close
	})
}

// drop ends the connection from the platform's side.
func (c *conn) drop(reset bool) {
	if tcp, ok := c.sock.NetConn().(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0) // reset instead of a clean end; the socket is closed in any case
	} else {
		msg := websocket.FormatCloseMessage(websocket.CloseGoingAway, "")
		_ = c.sock.WriteControl(websocket.CloseMessage, msg, time.Now().Add(100*time.Millisecond)) // best effort
	}
	c.close()
}

// alive reports whether the connection is open.
func (c *conn) alive() bool {
	select {
	case <-c.gone:
		return false
	default:
		return true
	}
}

// headers makes frame headers from alternating keys and values.
func headers(pairs ...string) []larkws.Header {
	var hs larkws.Headers
	for i := 0; i+1 < len(pairs); i += 2 {
		hs.Add(pairs[i], pairs[i+1])
	}
	return hs
}
