package pgtest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Proxy stands between a program and its server, and can break their connections.
type Proxy struct {
	listener net.Listener
	server   string
	cuts     atomic.Int64 // commits whose answer is still to be lost
	trips    atomic.Int64

	mu    sync.Mutex
	conns map[net.Conn]bool
	wait  sync.WaitGroup
}

// NewProxy starts a proxy that ends with the test.
func NewProxy(t testing.TB, s *Server) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: l, server: fmt.Sprintf("127.0.0.1:%d", s.port), conns: map[net.Conn]bool{}}
	p.wait.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.Break()
		p.wait.Wait()
	})
	return p
}

// URL is the URL of a database by way of the proxy. Its role may do anything.
func (p *Proxy) URL(database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.User(superuser), Host: p.listener.Addr().String(), Path: "/" + database,
		RawQuery: url.Values{"sslmode": {"disable"}}.Encode(),
	}
	return u.String()
}

// LoseCommits has the next n commits take effect, but breaks the connection before the program learns that.
func (p *Proxy) LoseCommits(n int64) { p.cuts.Store(n) }

// Left is how many commits of [Proxy.LoseCommits] are still to come.
func (p *Proxy) Left() int64 { return max(0, p.cuts.Load()) }

// Trips is how often programs have waited for an answer of the server.
func (p *Proxy) Trips() int64 { return p.trips.Load() }

// Break breaks all connections.
func (p *Proxy) Break() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // it is closed
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = true, true
		p.mu.Unlock()
		var committing atomic.Bool
		end := func() {
			_ = errors.Join(client.Close(), server.Close())
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.conns, client)
			delete(p.conns, server)
		}
		p.wait.Go(func() {
			defer end()
			p.send(client, server, &committing)
		})
		p.wait.Go(func() {
			defer end()
			p.answer(server, client, &committing)
		})
	}
}

// send passes on what the client says.
func (p *Proxy) send(client, server net.Conn, committing *atomic.Bool) {
	startup := true // it has no type
	commit := ""    // the prepared statement
	for {
		kind, message, err := read(client, startup)
		if err != nil {
			return
		}
		commits := kind == 'Q' && string(message[5:]) == "commit\x00"
		if kind == 'P' || kind == 'B' { // Parse: its name, and the statement; Bind: a portal, and the name
			names := strings.SplitN(string(message[5:]), "\x00", 3)
			if kind == 'P' && names[1] == "commit" {
				commit = names[0]
			}
			commits = kind == 'B' && commit != "" && names[1] == commit
		}
		if commits && p.cuts.Add(-1) >= 0 {
			committing.Store(true)
		}
		if _, err := server.Write(message); err != nil {
			return
		}
		startup = false
	}
}

// answer passes on what the server says, except to a commit that is lost.
func (p *Proxy) answer(server, client net.Conn, committing *atomic.Bool) {
	for {
		kind, message, err := read(server, false)
		if err != nil || committing.Load() && kind == 'Z' { // the server has done everything
			return
		}
		if committing.Load() {
			continue
		}
		if kind == 'Z' { // ReadyForQuery
			p.trips.Add(1)
		}
		if _, err := client.Write(message); err != nil {
			return
		}
	}
}

// read reads a message: its type, unless it is the first of a client, its length and its content.
func read(from io.Reader, startup bool) (kind byte, message []byte, err error) {
	head := make([]byte, 5)
	if startup {
		head = head[1:]
	}
	if _, err := io.ReadFull(from, head); err != nil {
		return 0, nil, err
	}
	message = append(head, make([]byte, binary.BigEndian.Uint32(head[len(head)-4:])-4)...)
	if _, err := io.ReadFull(from, message[len(head):]); err != nil {
		return 0, nil, err
	}
	return head[0], message, nil
}
