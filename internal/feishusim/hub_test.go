package feishusim

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	larkws "github.com/larksuite/oapi-sdk-go/v3/ws"
)

// rawConn is a long connection without the SDK.
type rawConn struct {
	*websocket.Conn
	t       *testing.T
	service int32
}

// endpoint asks for the URL of a long connection.
func endpoint(t *testing.T, s *Server, secret string) (code int, u string) {
	t.Helper()
	resp, err := http.Post(s.URL()+pathEndpoint, "application/json",
		strings.NewReader(fmt.Sprintf(`{"AppID":%q,"AppSecret":%q}`, s.AppID(), secret)))
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer resp.Body.Close()
	var out larkws.EndpointResp
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		t.Fatal(err)
	}
	if out.Data == nil {
		t.Fatal("no data")
	}
	return out.Code, out.Data.Url
}

func dialRaw(t *testing.T, s *Server) *rawConn {
	t.Helper()
	_, u := endpoint(t, s, s.AppSecret())
	c, resp, err := websocket.DefaultDialer.Dial(u, nil)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { c.Close() })
	var service int32
	if _, err := fmt.Sscan(resp.Request.URL.Query().Get("service_id"), &service); err != nil {
		t.Fatal(err)
	}
	await(t, s, "connection", func(v *View) bool { return v.Connections() > 0 })
	return &rawConn{Conn: c, t: t, service: service}
}

func (c *rawConn) write(f *larkws.Frame) {
	c.t.Helper()
	b, err := f.Marshal()
	if err == nil {
		err = c.WriteMessage(websocket.BinaryMessage, b)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *rawConn) read() *larkws.Frame {
	c.t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(patience))
	_, b, err := c.ReadMessage()
	if err != nil {
		c.t.Fatal(err)
	}
	f := new(larkws.Frame)
	if err := f.Unmarshal(b); err != nil {
		c.t.Fatal(err)
	}
	return f
}

func TestFramesOfAFragmentedEvent(t *testing.T) {
	s := start(t, Config{Fragment: 100, PingInterval: 7 * time.Second})
	c := dialRaw(t, s)
	c.write(larkws.NewPingFrame(c.service))
	pong := c.read()
	var conf larkws.ClientConfig
	if err := json.Unmarshal(pong.Payload, &conf); err != nil || conf.PingInterval != 7 || conf.ReconnectCount != -1 {
		t.Errorf("pong %s: %v", pong.Payload, err)
	}
	tom := s.AddUser("Tom")
	id := s.Say(s.PrivateChat(tom), tom, "fragmented")
	first := c.read()
	payload, last, sum := first.Payload, first, larkws.Headers(first.Headers).GetInt("sum")
	if sum < 5 || len(first.Payload) != 100 {
		t.Fatalf("sum %d, piece of %d", sum, len(first.Payload))
	}
	for i := 1; i < sum; i++ {
		last = c.read()
		if hs := larkws.Headers(last.Headers); hs.GetInt("seq") != i ||
			hs.GetString("message_id") != larkws.Headers(first.Headers).GetString("message_id") {
			t.Errorf("frame %d: %v", i, last.Headers)
		}
		payload = append(payload, last.Payload...)
	}
	var ev struct {
		Event struct {
			Message struct {
				ID string `json:"message_id"`
			}
		}
	}
	if err := json.Unmarshal(payload, &ev); err != nil || ev.Event.Message.ID != id {
		t.Errorf("payload %s: %v", payload, err)
	}
	last.Payload = []byte(`{"code":200,"headers":null,"data":null}`)
	last.Headers = append(last.Headers, larkws.Header{Key: "biz_rt", Value: "3"})
	c.write(last)
	await(t, s, "ack", func(v *View) bool {
		d := v.Deliveries()[0]
		return d.AckCode == 200 && d.BizRT == 3*time.Millisecond
	})
	refuteViolations(t, s)
	c.write(last)
	await(t, s, "violation", func(v *View) bool { return violated(s, RuleAck) == 1 })
}

func TestBadFramesAreViolations(t *testing.T) {
	s := start(t, Config{})
	c := dialRaw(t, s)
	_ = c.WriteMessage(websocket.TextMessage, []byte("hello"))
	_ = c.WriteMessage(websocket.BinaryMessage, []byte("not protobuf"))
	c.write(larkws.NewPingFrame(c.service + 1))
	c.write(&larkws.Frame{Service: c.service, Method: 9})
	await(t, s, "violations", func(v *View) bool { return violated(s, RuleFrame) == 4 })
}

func TestEndpointIsRefused(t *testing.T) {
	s := start(t, Config{})
	l := newListener(t, s, "wrong", newDispatcher())
	select {
	case <-l.ended:
	case <-time.After(patience):
		t.Fatal("the client continues with a wrong secret")
	}
	var ce *larkws.ClientError
	if !errors.As(l.err, &ce) || ce.Code != codeEndpointSecret {
		t.Errorf("error %v", l.err)
	}
	s.RefuseEndpoint(1, "system busy")
	if code, _ := endpoint(t, s, s.AppSecret()); code != 1 {
		t.Errorf("code %d, want 1", code)
	}
	s.RefuseEndpoint(0, "")
	code, u := endpoint(t, s, s.AppSecret())
	if code != 0 {
		t.Fatalf("code %d", code)
	}
	for i := range 2 {
		c, resp, err := websocket.DefaultDialer.Dial(u, nil)
		if err == nil {
			t.Cleanup(func() { c.Close() })
		}
		if used := i == 1; used != (err != nil) {
			t.Errorf("dial %d: %v", i+1, err)
		} else if used && resp.Header.Get("Handshake-Status") != "514" {
			t.Errorf("headers %v", resp.Header)
		}
	}
}

func TestClientComesBackAfterADrop(t *testing.T) {
	for _, reset := range []bool{false, true} {
		t.Run(fmt.Sprint("reset ", reset), func(t *testing.T) {
			s := start(t, Config{Reconnect: Reconnect{Interval: -1, Nonce: -1}})
			d, in := receiver(nil)
			listen(t, s, d)
			s.DropConnections(reset)
			await(t, s, "drop", func(v *View) bool {
				return len(callsOf(s, pathEndpoint)) >= 2 && v.Connected() >= 2 && v.Connections() == 1
			})
			tom := s.AddUser("Tom")
			s.Say(s.PrivateChat(tom), tom, "still there?")
			in.next(t, 1)
		})
	}
}

func callsOf(s *Server, path string) []Call {
	var out []Call
	for _, c := range s.Calls() {
		if c.Path == path {
			out = append(out, c)
		}
	}
	return out
}

func TestFrozenConnectionsAreSilent(t *testing.T) {
	s := start(t, Config{
		AckTimeout: 300 * time.Millisecond, Redeliver: slices.Repeat([]time.Duration{20 * time.Millisecond}, 1000),
	})
	d, in := receiver(nil)
	listen(t, s, d)
	s.Freeze(true)
	tom := s.AddUser("Tom")
	s.Say(s.PrivateChat(tom), tom, "lost for now")
	await(t, s, "a second delivery", func(v *View) bool { return len(v.Deliveries()) > 1 })
	refuteViolations(t, s) // the missing ack of the first is no violation
	s.Freeze(false)
	in.next(t, 1)
	await(t, s, "ack", func(v *View) bool {
		return slices.ContainsFunc(v.Deliveries(), func(d Delivery) bool { return d.AckCode == 200 })
	})
	if first := s.Deliveries()[0]; first.Failure != "timeout" || !first.AckedAt.IsZero() {
		t.Errorf("a frozen delivery was acked: %+v", first)
	}
}
