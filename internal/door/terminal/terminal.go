// Package terminal is the door for whoever may run commands as the service's user: people at a terminal of the same
// machine, or programs that pipe a question in. Its [Door] is the service's side, a private unix socket with the plain API
// of programs; [Client] is the side of the terminal.
//
// It neither draws nor reads what people type.
package terminal

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"magpie/db/programs"
	"magpie/internal/chat"
	"magpie/internal/door"
	"magpie/internal/door/api"
	"magpie/internal/i18n"
)

// channel is that of the door.
const channel = chat.Terminal

// Main is the chat in which a terminal talks if it names no other.
var Main = chat.Key{Channel: channel, Kind: "chat", ID: "main"}

// Door is the service's side.
type Door struct {
	*api.Door

	// Also serves other requests of whoever may use the socket, below /v1/; nil = nothing.
	Also http.Handler

	folder string
	health atomic.Pointer[door.Health]
}

// New makes the door whose socket is in this folder, which is its own. The agents must not reach it.
func New(folder string, store programs.Store, log zerolog.Logger) (*Door, error) {
	if err := checkPath(SocketPath(folder)); err != nil {
		return nil, err
	}
	d := &Door{Door: api.New(channel, store, log), folder: folder}
	d.Who = owner
	d.health.Store(&door.Health{})
	return d, nil
}

// owner is who sends a request: of a user of the machine it is known who he is.
func owner(r *http.Request) programs.Token {
	uid := PeerOf(r).UID
	who := programs.Token{ID: actorID(uid)}
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		who.Name = u.Username
	}
	return who
}

// OwnerIDs are the IDs of those who may use the socket: the user that runs the service, and root.
func OwnerIDs() []string { return slices.Compact([]string{actorID(os.Geteuid()), actorID(0)}) }

func actorID(uid int) string { return channel + ":" + strconv.Itoa(uid) }

// Traits implements [door.Door].
func (d *Door) Traits() door.Traits {
	return door.Traits{Name: i18n.Phrase{ZH: "终端", EN: "the terminal"}}
}

// Health implements [door.Door].
func (d *Door) Health() door.Health { return *d.health.Load() }

// Run implements [door.Door]. It answers terminals until ctx is done.
func (d *Door) Run(ctx context.Context, h door.Handler) error {
	l, err := listen(d.folder)
	if err != nil {
		return i18n.Mistakef("终端入口：%v", "the terminal: %v", err)
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	go func() { _ = d.Door.Run(ctx, h) }() // without an error
	mux := http.NewServeMux()
	mux.Handle("/api/", d.Handler())
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

// Peer is a process that has connected, as the kernel says. It may become another program without a new number.
type Peer struct {
	UID int
	PID int // 0 = this process cannot see it, as one outside of its container, or the system does not tell
}

// peerKey is the key of a connection's peer in its context.
type peerKey struct{}

// withPeer notes who has opened a connection, as the kernel says.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	raw, err := c.(*net.UnixConn).SyscallConn()
	if err != nil {
		return ctx
	}
	var peer Peer
	var failed error
	if raw.Control(func(fd uintptr) { peer, failed = peerOf(fd) }) != nil || failed != nil {
		return ctx
	}
	return context.WithValue(ctx, peerKey{}, peer)
}

// PeerOf is who has sent a request on the socket.
func PeerOf(r *http.Request) Peer { return r.Context().Value(peerKey{}).(Peer) }

// onlyOwners answers nobody but the user that runs the service, and root, even if the socket's folder lets others in.
func onlyOwners(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p, ok := r.Context().Value(peerKey{}).(Peer); !ok || p.UID != 0 && p.UID != os.Geteuid() {
			http.Error(w, "the socket belongs to another user", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
