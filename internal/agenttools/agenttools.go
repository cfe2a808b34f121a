// Package agenttools gives the agents that the bridge runs tools of the bridge: over MCP, on the loopback interface,
// each process with a token of its own that stands for one chat.
package agenttools

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"

	"magpie/internal/chat"
)

// ServerName is what agents know the server as.
const ServerName = "magpie"

// Prefix is what the CLI puts before the names of the server's tools.
const Prefix = "mcp__" + ServerName + "__"

// Server serves tools. Make it with [Listen].
type Server struct {
	listener net.Listener
	log      zerolog.Logger
	schemas  *mcp.SchemaCache

	mu sync.Mutex
	// by the hash of the token, so that looking one up tells nothing by the time it takes
	grants map[[sha256.Size]byte]func() *mcp.Server
}

// Listen opens a port of this machine for agents. It answers from Serve on; who comes earlier waits.
func Listen(log zerolog.Logger) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for agents: %w", err)
	}
	return &Server{
		listener: l, log: log, schemas: mcp.NewSchemaCache(), grants: map[[sha256.Size]byte]func() *mcp.Server{},
	}, nil
}

// Grant is what one process needs to use the tools for its chat.
type Grant struct {
	URL    string
	Token  string   // sent as bearer token
	Names  []string // of the tools
	Revoke func()   // from then on the token opens nothing
}

// Grant makes a token for these tools, in one chat.
func (s *Server) Grant(key chat.Key, tools []Tool) Grant {
	token := rand.Text()
	id := sha256.Sum256([]byte(token))
	var names []string
	for _, t := range tools {
		names = append(names, t.name)
	}
	serves := sync.OnceValue(func() *mcp.Server { // the process asks for it when it has time
		m := mcp.NewServer(&mcp.Implementation{Name: ServerName, Version: "1"}, &mcp.ServerOptions{SchemaCache: s.schemas})
		for _, t := range tools {
			t.offer(m, key, s.log)
		}
		return m
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grants[id] = serves
	return Grant{
		URL: "http://" + s.listener.Addr().String() + "/", Token: token, Names: names,
		Revoke: func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.grants, id)
		},
	}
}

// granted finds what a request's token stands for, or nil.
func (s *Server) granted(r *http.Request) *mcp.Server {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return nil
	}
	s.mu.Lock()
	serves := s.grants[sha256.Sum256([]byte(token))]
	s.mu.Unlock()
	if serves == nil {
		return nil
	}
	return serves()
}

// Bounds of what an agent may send.
const (
	maxBody     = 1 << 20
	headerLimit = 10 * time.Second
)

// Serve answers until ctx is done.
func (s *Server) Serve(ctx context.Context) error {
	// Every request stands for itself: nothing has to be kept for a process, or cleaned up after it.
	tools := mcp.NewStreamableHTTPHandler(s.granted, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxBody,
	})
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if s.granted(r) == nil { // a wrong token, a token of yesterday, no token: one answer
				http.NotFound(w, r)
				return
			}
			tools.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: headerLimit,
		BaseContext:       func(net.Listener) context.Context { return s.log.WithContext(ctx) },
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })() // it ends Serve, whatever it says
	err := server.Serve(s.listener)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve agents: %w", err)
}

// Close gives the port back when Serve was never called.
func (s *Server) Close() error { return s.listener.Close() }
