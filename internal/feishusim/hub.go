package feishusim

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	larkws "github.com/larksuite/oapi-sdk-go/v3/ws"
)

const (
	pathEndpoint   = "/callback/ws/endpoint"
	pathConnection = "/ws/v2"
)

// hub holds the long connections and pushes events over them. Each event goes to one connection, picked at random
// (doc: event-subscription-guide/overview, "cluster mode").
type hub struct {
	cfg    Config
	auth   *auth
	rec    *records
	notify *notifier
	done   chan struct{} // closed by close
	work   sync.WaitGroup

	handshakes sync.RWMutex // read-locked from the answer to a handshake until the connection counts

	mu      sync.Mutex
	closed  bool
	frozen  bool
	pings   int // of a connection, the last of which is answered; 0: all are
	conns   map[*conn]struct{}
	made    int                 // long connections so far
	only    int                 // the number of the one that gets all events; 0 = any
	waiting map[string]*attempt // by delivery id, until its ack
}

func newHub(cfg Config, a *auth, rec *records, n *notifier) *hub {
	return &hub{cfg: cfg, auth: a, rec: rec, notify: n, done: make(chan struct{}),
		conns: make(map[*conn]struct{}), waiting: make(map[string]*attempt)}
}

// Connections returns the number of open long connections.
func (h *hub) Connections() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.conns)
}

// Connected returns how many long connections there have been, including the open ones. A lost connection may still
// look open for a moment, so a test uses this number to see that a client has reconnected.
func (h *hub) Connected() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.made
}

// DropConnections ends all long connections: with a close frame, or with a TCP reset. The list is
// copied first, because every dropped connection removes itself from the map.
func (h *hub) DropConnections(reset bool) {
	h.handshakes.Lock() // a client whose handshake was answered is connected, too
	defer h.handshakes.Unlock()
	h.mu.Lock()
	var all []*conn
	for c := range h.conns {
		all = append(all, c)
	}
	h.mu.Unlock()
	for _, c := range all {
		c.drop(reset)
	}
}

// Freeze makes all long connections, including new ones, half-open: input from clients is accepted and ignored, nothing
// is sent, and an event pushed meanwhile is lost until its redelivery. HTTP is not affected; use Inject for that.
func (h *hub) Freeze(on bool) {
	h.mu.Lock()
	h.frozen = on
	// In both directions: an ack may be lost when freezing starts, and events pushed during it were never sent.
	for _, at := range h.waiting {
		at.pardon()
	}
	h.mu.Unlock()
	h.notify.bump()
}

// DeliverTo has all events go to the nth of all long connections so far, from 1, while that is open; 0 = to any.
func (h *hub) DeliverTo(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.only = n
}

// AnswerPings makes the platform answer only every nth ping of a connection.
func (h *hub) AnswerPings(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pings = n
}

// answers reports whether the nth ping of a connection is answered.
func (h *hub) answers(n int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.pings == 0 || n%h.pings == 0
}

func (h *hub) isFrozen() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.frozen
}

// addWork counts work that close waits for; it returns false after close.
func (h *hub) addWork() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.work.Add(1)
	return true
}

// close ends the pushes, then the connections, and waits for both. It may be called twice.
func (h *hub) close() {
	h.mu.Lock()
	if !h.closed {
		h.closed = true
		close(h.done)
	}
	h.mu.Unlock()
	h.DropConnections(false)
	h.work.Wait()
}

// pick returns a random connection, or nil if there is none. A client with two connections therefore
// gets each event on one of them only.
func (h *hub) pick() *conn {
	h.handshakes.Lock() // a client whose handshake was answered is connected, too
	defer h.handshakes.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.conns) == 0 {
		return nil
	}
	for c := range h.conns {
		if c.number == h.only {
			return c
		}
	}
	n := rand.IntN(len(h.conns))
	for c := range h.conns {
		if n == 0 {
			return c
		}
		n--
	}
	return nil
}

func (h *hub) routes() []route {
	return []route{
		{pattern: "POST " + pathEndpoint, open: true, secret: true, serve: h.serveEndpoint},
		{pattern: "GET " + pathConnection, open: true, secret: true, serve: h.serveConnection},
	}
}

func (h *hub) serveEndpoint(_ http.ResponseWriter, q *request) reply {
	var in struct{ AppID, AppSecret string }
	if err := json.Unmarshal(q.body, &in); err != nil {
		return refused(refuse(RuleField, codeEndpointNone, "bad request body"))
	}
	bad := h.auth.endpointRefusal(in.AppID, in.AppSecret)
	if bad == nil && h.Connections() >= maxConnections {
		bad = refuse("", codeTooManyConns, "the number of connections exceeded the limit")
	}
	if bad != nil {
		// HTTP 200 with a code, and data as an object: the Node SDK reads data.URL before it looks at the code.
		rep := refused(bad)
		rep.status = http.StatusOK
		rep.fields = map[string]any{"data": map[string]any{}}
		return rep
	}
	u := connectionURL(q.Host, strconv.FormatUint(rand.Uint64()>>1, 10), strconv.Itoa(33000000+rand.IntN(999999)),
		h.auth.ticket(time.Now()))
	rep := done(map[string]any{"URL": u, "ClientConfig": h.cfg.client()})
	rep.msg = ""
	return rep
}

// serveConnection turns the request into a long connection and returns when it ends.
func (h *hub) serveConnection(w http.ResponseWriter, q *request) reply {
	if !h.auth.redeem(q.URL.Query().Get("ticket"), time.Now()) {
		return refusedHandshake(http.StatusForbidden, handshakeAuthFailed, "ticket is invalid", 0)
	}
	if h.Connections() >= maxConnections {
		return refusedHandshake(http.StatusForbidden, handshakeAuthFailed, "too many connections", codeTooManyConns)
	}
	service, err := strconv.ParseInt(q.URL.Query().Get("service_id"), 10, 32)
	if err != nil {
		return refusedHandshake(http.StatusForbidden, http.StatusForbidden, "service_id is invalid", 0)
	}
	// Clients are programs; without this the upgrader refuses any that sends an Origin header.
	up := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	h.handshakes.RLock()
	sock, err := up.Upgrade(w, q.Request, nil)
	if err != nil {
		h.handshakes.RUnlock()
		return reply{taken: true, status: http.StatusBadRequest} // the upgrader has answered
	}
	c := newConn(h, sock, q.URL.Query().Get("device_id"), int32(service))
	admitted := h.admit(c)
	h.handshakes.RUnlock()
	if admitted {
		c.serve()
	}
	_ = sock.Close() // it may be closed already
	return reply{taken: true, status: http.StatusSwitchingProtocols}
}

// refusedHandshake puts the reason in headers (oapi-sdk-go ws/const.go).
func refusedHandshake(status, code int, msg string, authCode int) reply {
	rep := reply{status: status, code: code, msg: msg, rule: RuleToken, header: http.Header{}}
	rep.header.Set(larkws.HeaderHandshakeStatus, strconv.Itoa(code))
	rep.header.Set(larkws.HeaderHandshakeMsg, msg)
	if authCode != 0 {
		rep.header.Set(larkws.HeaderHandshakeAuthErrCode, strconv.Itoa(authCode))
	}
	return rep
}

// admit adds a connection unless the hub is closed; the check and the counting are one step, so that close misses none.
func (h *hub) admit(c *conn) bool {
	h.mu.Lock()
	ok := !h.closed
	if ok {
		h.conns[c] = struct{}{}
		h.made++
		c.number = h.made
		h.work.Add(1)
	}
	h.mu.Unlock()
	h.notify.bump()
	return ok
}

// leave removes a connection that ends; later pushes use others.
func (h *hub) leave(c *conn) {
	h.mu.Lock()
	delete(h.conns, c)
	h.mu.Unlock()
	h.notify.bump()
}
