// Package agenttools is an MCP server on the loopback interface that offers tools of the bridge to its agents. Each
// process has its own token, which identifies one chat.
//
// The implementation of a tool is a function that the caller passes.
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
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"

	"magpie/internal/chat"
)

// ServerName is the server's name for agents.
const ServerName = "magpie"

// Prefix is the CLI's prefix of the names of the server's tools.
const Prefix = "mcp__" + ServerName + "__"

// Server serves tools. Make it with [Listen].
type Server struct {
	listener net.Listener
	log      zerolog.Logger
	schemas  *mcp.SchemaCache

	mu sync.Mutex
	// by the hash of the token, so that the duration of a lookup reveals nothing about tokens
	grants map[[sha256.Size]byte]func() *mcp.Server
}

// Listen opens a local port for agents. Requests are answered once Serve is called; earlier ones wait.
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
	Token  string             // sent as bearer token
	Names  []string           // of the tools
	Revoke func()             // makes the token invalid
	Bind   func(key chat.Key) // sets the chat, if it is not known yet
}

// Grant creates a token for these tools in one chat.
func (s *Server) Grant(key chat.Key, tools []Tool) Grant {
	g := s.GrantUnbound(tools)
	g.Bind(key)
	return g
}

// GrantUnbound creates a token for these tools in a chat that is bound later, once. Until then calls are refused.
func (s *Server) GrantUnbound(tools []Tool) Grant {
	token, of := rand.Text(), new(atomic.Pointer[chat.Key])
	id := sha256.Sum256([]byte(token))
	var names []string
	for _, t := range tools {
		names = append(names, t.name)
	}
	serves := sync.OnceValue(func() *mcp.Server { // created on the first request
		m := mcp.NewServer(&mcp.Implementation{Name: ServerName, Version: "1"}, &mcp.ServerOptions{
			SchemaCache: s.schemas,
		})
		for _, t := range tools {
			t.offer(m, of, s.log)
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
		Bind: func(key chat.Key) { of.CompareAndSwap(nil, &key) },
	}
}

// serverFor returns the server for a request's token, or nil.
func (s *Server) serverFor(r *http.Request) *mcp.Server {
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

// Limits of a request.
const (
	maxBody     = 1 << 20
	headerLimit = 10 * time.Second
)

// Serve answers requests until ctx is done.
func (s *Server) Serve(ctx context.Context) error {
	// Requests are stateless: there is no state to keep per process, or to clean up after it.
	tools := mcp.NewStreamableHTTPHandler(s.serverFor, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxBody,
	})
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if s.serverFor(r) == nil { // a wrong, revoked or missing token: the same answer
				// Any program of the machine can connect; without a token it must not keep a connection open.
				w.Header().Set("Connection", "close")
				http.NotFound(w, r)
				return
			}
			tools.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: headerLimit,
		BaseContext:       func(net.Listener) context.Context { return s.log.WithContext(ctx) },
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })() // this ends Serve in any case
	err := server.Serve(s.listener)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve agents: %w", err)
}

// Close closes the port if Serve was never called.
func (s *Server) Close() error { return s.listener.Close() }
