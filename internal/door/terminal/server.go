package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"magpie/internal/chat"
	"magpie/internal/door"
	"magpie/internal/i18n"
)

// SocketPath is the path of the socket in its folder.
func SocketPath(folder string) string { return filepath.Join(folder, "socket") }

// longestPath is what every system takes as the address of a socket, without the final zero.
const longestPath = 103

func checkPath(path string) error {
	if len(path) > longestPath {
		return i18n.Mistakef(
			"终端入口：套接字的路径有 %d 字节，系统最多接受 %d 字节，请把数据库放到更短的路径：%s",
			"the terminal: the path of its socket has %d bytes, and systems take %d; put the database at a shorter path: %s",
			len(path), longestPath, path)
	}
	return nil
}

// Run implements [door.Door]. It answers terminals until ctx is done. A socket that is there was left by a killed
// service: only one opens the database beside it.
func (d *Door) Run(ctx context.Context, h door.Handler) error {
	l, err := listen(d.folder)
	if err != nil {
		return i18n.Mistakef("终端入口：%v", "the terminal: %v", err)
	}
	server := &http.Server{
		Handler: d.routes(h), ReadHeaderTimeout: 10 * time.Second, ConnContext: withPeer,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })() // this ends Serve in any case
	d.setHealth(door.Health{Connected: true, Since: time.Now()})
	err = server.Serve(l)
	d.setHealth(door.Health{Since: time.Now(), LastError: err})
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func (d *Door) setHealth(h door.Health) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.health = h
}

// listen makes the socket, for this user alone.
func listen(folder string) (net.Listener, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	if err := os.Chmod(folder, 0o700); err != nil { // it may be older
		return nil, err
	}
	path := SocketPath(folder)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	return l, os.Chmod(path, 0o600)
}

// peerKey is the key of a connection's user in its context.
type peerKey struct{}

// withPeer notes who has opened a connection.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	uid, err := peerUser(c)
	if err != nil || uid != 0 && uid != os.Geteuid() {
		return ctx
	}
	return context.WithValue(ctx, peerKey{}, uid)
}

// Message is what a terminal says. Its ID is "cli:", the terminal's ID, a dot, and a number.
type Message struct {
	ID   string `json:"id"`
	Chat string `json:"chat"` // the key
	Text string `json:"text"`
}

// Press is a press of a card's button, with the values of the form.
type Press struct {
	ID     string              `json:"id"` // like that of a message
	Chat   string              `json:"chat"`
	Card   string              `json:"card"`
	Action chat.Action         `json:"action"`
	Values map[string][]string `json:"values,omitempty"`
}

// answer is what the service says to a message or a press.
type answer struct {
	Toast string `json:"toast,omitempty"`
	Error string `json:"error,omitempty"`
}

// maxBytes is the size of the longest request.
const maxBytes = 4 << 20

// routes answer the requests of terminals.
func (d *Door) routes(h door.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", func(w http.ResponseWriter, r *http.Request) {
		var m Message
		key, ok := read(w, r, &m, func() (id, key string) { return m.ID, m.Chat })
		if !ok {
			return
		}
		in := chat.Incoming{Key: key, ID: m.ID, Actor: actor(r), Text: m.Text, Time: time.Now(), ToBot: true}
		if key.Channel == channel {
			in.Kind = chat.Private
		}
		reply(w, "", h.HandleMessage(r.Context(), in))
	})
	mux.HandleFunc("POST /v1/presses", func(w http.ResponseWriter, r *http.Request) {
		var p Press
		key, ok := read(w, r, &p, func() (id, key string) { return p.ID, p.Chat })
		if !ok {
			return
		}
		toast, err := h.HandlePress(r.Context(), chat.Press{
			ID: p.ID, Key: key, Card: chat.FirstMessage(p.Card), Actor: actor(r), Action: p.Action, Values: p.Values,
		})
		reply(w, toast, err)
	})
	mux.HandleFunc("GET /v1/events", d.serveEvents)
	mux.HandleFunc("GET /v1/files/{file}", d.serveFile)
	mux.HandleFunc("DELETE /v1/files/{file}", d.serveFile)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := r.Context().Value(peerKey{}).(int); !ok {
			http.Error(w, "the socket belongs to another user", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// read reads a request into v, and returns the chat that it names.
func read(w http.ResponseWriter, r *http.Request, v any, names func() (id, key string)) (chat.Key, bool) {
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBytes)).Decode(v)
	id, name := names()
	key, keyErr := chat.ParseKey(name)
	if err = errors.Join(err, keyErr); err == nil {
		err = key.Validate()
	}
	if err == nil && key.Channel == channel && key.Kind != Main.Kind {
		err = errors.New("chat: must be cli:chat:NAME, or that of another door")
	}
	terminal, number, _ := strings.Cut(strings.TrimPrefix(id, channel+":"), ".")
	if _, numberErr := strconv.ParseUint(number, 10, 63); !isTerminal(terminal) || numberErr != nil {
		err = errors.Join(err, errors.New("id: must be cli:TERMINAL.NUMBER"))
	}
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(answer{Error: err.Error()})
	}
	return key, err == nil
}

// isTerminal reports whether a terminal may have this ID.
func isTerminal(id string) bool {
	return len(id) >= 8 && chat.ValidID(id) == nil && !strings.ContainsAny(id, "./")
}

// reply answers a request. After an error that is not permanent the terminal repeats it.
func reply(w http.ResponseWriter, toast string, err error) {
	a := answer{Toast: toast}
	if err != nil {
		a.Error = err.Error()
		status := http.StatusServiceUnavailable
		if errors.Is(err, chat.ErrNoChat) {
			status = http.StatusNotFound
		}
		w.WriteHeader(status)
	}
	_ = json.NewEncoder(w).Encode(a)
}

// actor is who has opened the connection of a request.
func actor(r *http.Request) chat.Actor {
	uid, _ := r.Context().Value(peerKey{}).(int)
	a := chat.Actor{ID: actorID(uid)}
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		a.Name = u.Username
	}
	return a
}

// stream is the connection on which a terminal gets its events.
type stream struct {
	http.ResponseWriter
	end context.CancelFunc
}

// writeLimit is how long a terminal may take for an event; one that is stopped is disconnected, and connects again.
const writeLimit = 2 * time.Second

// write writes an event. Without an error the terminal's side of the socket has it, even if this process dies.
func (v *view) write(e Event) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.stream == nil {
		return errAway
	}
	c := http.NewResponseController(v.stream.ResponseWriter)
	_ = c.SetWriteDeadline(time.Now().Add(writeLimit))
	err := json.NewEncoder(v.stream).Encode(e)
	if err == nil {
		err = c.Flush()
	}
	if err != nil {
		v.stream.end()
		v.stream = nil
	}
	return err
}

// serveEvents sends a terminal what it is to show, until it leaves or connects anew.
func (d *Door) serveEvents(w http.ResponseWriter, r *http.Request) {
	id := r.FormValue("terminal")
	key, err := chat.ParseKey(r.FormValue("chat"))
	if err != nil || !isTerminal(id) {
		http.Error(w, "terminal or chat: missing, or malformed", http.StatusBadRequest)
		return
	}
	ctx, end := context.WithCancel(r.Context())
	defer end()
	s := &stream{w, end}
	v := d.connect(id, key, s)
	defer d.disconnect(id, v, s)
	if v.write(Event{}) == nil {
		<-ctx.Done()
	}
}

// connect makes s the stream of a terminal.
func (d *Door) connect(id string, key chat.Key, s *stream) *view {
	d.mu.Lock()
	defer d.mu.Unlock()
	for other, v := range d.terminals {
		if !v.left.IsZero() && time.Since(v.left) > grace {
			delete(d.terminals, other)
		}
	}
	v := d.terminals[id]
	if v == nil {
		v = &view{}
		d.terminals[id] = v
	}
	v.chat, v.left = key, time.Time{}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.stream != nil {
		v.stream.end()
	}
	v.stream = s
	return v
}

// disconnect ends a stream, after which nothing may be written to it.
func (d *Door) disconnect(id string, v *view, s *stream) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.stream == s || v.stream == nil {
		v.stream, v.left = nil, time.Now()
	}
}
