package terminal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
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

// Run implements [door.Door]. It answers terminals until ctx is done.
func (d *Door) Run(ctx context.Context, h door.Handler) error {
	l, err := listen(d.folder)
	if err != nil {
		return i18n.Mistakef("终端入口：%v", "the terminal: %v", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/said", func(w http.ResponseWriter, r *http.Request) { hear(w, r, h) })
	mux.HandleFunc("GET /v1/events", d.serveEvents)
	if d.Also != nil {
		mux.Handle("/v1/", d.Also)
	}
	server := &http.Server{
		Handler: onlyOwners(mux), ReadHeaderTimeout: 10 * time.Second, ConnContext: withPeer,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })() // this ends Serve in any case
	d.health.Store(&door.Health{Connected: true, Since: time.Now()})
	err = server.Serve(l)
	d.health.Store(&door.Health{Since: time.Now(), LastError: err})
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// listen makes the socket, for this user alone. One that is there was left by a killed service: only one opens the
// database beside it.
func listen(folder string) (net.Listener, error) {
	path := SocketPath(folder)
	if err := errors.Join(os.MkdirAll(folder, 0o700), os.Chmod(folder, 0o700)); err != nil { // it may be older
		return nil, err
	}
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

// withPeer notes who has opened a connection, as the kernel says.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	raw, err := c.(*net.UnixConn).SyscallConn()
	if err != nil {
		return ctx
	}
	var uid int
	var failed error
	if raw.Control(func(fd uintptr) { uid, failed = userOf(fd) }) != nil || failed != nil {
		return ctx
	}
	return context.WithValue(ctx, peerKey{}, uid)
}

// UserOf is the user who has sent a request to [Door.Also].
func UserOf(r *http.Request) (uid int) { return r.Context().Value(peerKey{}).(int) }

// onlyOwners answers nobody but the user that runs the service, and root, even if the socket's folder lets others in.
func onlyOwners(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if uid, ok := r.Context().Value(peerKey{}).(int); !ok || uid != 0 && uid != os.Geteuid() {
			http.Error(w, "the socket belongs to another user", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// said is what is said at a terminal, or a press of a card's button there.
type said struct {
	ID     string              `json:"id"`   // "cli:", the terminal's ID, a dot, and a number
	Chat   string              `json:"chat"` // the key
	Text   string              `json:"text,omitempty"`
	Card   string              `json:"card,omitempty"` // whose button is pressed; empty = this is no press
	Action chat.Action         `json:"action"`
	Values map[string][]string `json:"values,omitempty"` // of the form
}

// maxBytes is the size of the longest request.
const maxBytes = 4 << 20

var (
	terminalID = regexp.MustCompile(`^[0-9a-f-]{8,64}$`)
	saidID     = regexp.MustCompile(`^` + channel + `:[0-9a-f-]{8,64}\.[0-9]{1,18}$`)
)

// The statuses of errors after which a terminal does not try again.
var refusals = map[error]int{
	chat.ErrNoChat: http.StatusNotFound, chat.ErrDenied: http.StatusForbidden, chat.ErrElsewhere: http.StatusConflict,
}

// hear passes on what is said. It is answered with the toast of a press.
func hear(w http.ResponseWriter, r *http.Request, h door.Handler) {
	var s said
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBytes)).Decode(&s)
	key, keyErr := chat.ParseKey(s.Chat)
	err = errors.Join(err, keyErr, key.Validate())
	if err != nil || !saidID.MatchString(s.ID) || key.Channel == channel && key.Kind != Main.Kind {
		http.Error(w, fmt.Sprint("no message of a terminal, or not in a chat that it can be in: ", err), http.StatusBadRequest)
		return
	}
	toast, uid := "", UserOf(r)
	who := chat.Actor{ID: actorID(uid)}
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		who.Name = u.Username
	}
	if s.Card != "" {
		toast, err = h.HandlePress(r.Context(), chat.Press{
			ID: s.ID, Key: key, Card: chat.FirstMessage(s.Card), Actor: who, Action: s.Action, Values: s.Values,
		})
	} else {
		in := chat.Incoming{Key: key, ID: s.ID, Actor: who, Text: s.Text, Time: time.Now(), ToBot: true}
		if key.Channel == channel {
			in.Kind = chat.Private
		}
		err = h.HandleMessage(r.Context(), in)
	}
	if err != nil {
		status := http.StatusServiceUnavailable
		for refusal, number := range refusals {
			if errors.Is(err, refusal) {
				status = number
			}
		}
		http.Error(w, cmp.Or(toast, http.StatusText(status)), status)
		return
	}
	_, _ = w.Write([]byte(toast))
}

// view is what a terminal sees: a connection on which it gets its events.
type view struct {
	chat chat.Key  // in which it talks
	left time.Time // when the connection ended; zero = it has not. The door's mutex guards it

	mu   sync.Mutex // an event is written at a time
	out  http.ResponseWriter
	end  context.CancelFunc
	over bool      // nothing more may be written
	next time.Time // before which no growing answer is drawn
}

// untilNext books the next drawing of a growing answer, and returns how long it has to wait.
func (v *view) untilNext() time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	wait := max(0, time.Until(v.next))
	v.next = time.Now().Add(wait + pace)
	return wait
}

// writeLimit is how long a terminal may take for an event; one that is stopped is disconnected, and connects again.
const writeLimit = 2 * time.Second

// write writes an event. Without an error the terminal's side of the socket has it, even if this process dies.
func (v *view) write(e Event) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.over {
		return errAway
	}
	c := http.NewResponseController(v.out)
	_ = c.SetWriteDeadline(time.Now().Add(writeLimit))
	err := json.NewEncoder(v.out).Encode(e)
	if err == nil {
		err = c.Flush()
	}
	if err != nil {
		v.over = true
		v.end()
	}
	return err
}

// serveEvents sends a terminal what it is to show, until it leaves or connects anew.
func (d *Door) serveEvents(w http.ResponseWriter, r *http.Request) {
	id := r.FormValue("terminal")
	key, err := chat.ParseKey(r.FormValue("chat"))
	if err != nil || !terminalID.MatchString(id) {
		http.Error(w, "terminal or chat: missing, or malformed", http.StatusBadRequest)
		return
	}
	ctx, end := context.WithCancel(r.Context())
	defer end()
	v := &view{chat: key, out: w, end: end}
	d.mu.Lock()
	maps.DeleteFunc(d.terminals, func(_ string, v *view) bool { return !v.left.IsZero() && time.Since(v.left) > grace })
	if before := d.terminals[id]; before != nil {
		before.end()
	}
	d.terminals[id] = v
	d.mu.Unlock()
	if v.write(Event{}) == nil {
		<-ctx.Done()
	}
	v.mu.Lock()
	v.over = true
	v.mu.Unlock()
	d.mu.Lock()
	v.left = time.Now()
	d.mu.Unlock()
}
