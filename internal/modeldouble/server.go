// Package modeldouble is a double of the model's HTTP API on the loopback interface, good enough for the real Claude Code
// CLI. It answers by script or, by default, with a small brain that knows only what is in the request; so what it
// answers proves which context has reached the model. It records every request.
package modeldouble

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Config configures a server.
type Config struct {
	Listen string        // default 127.0.0.1:0
	Pace   time.Duration // pause between two pieces of the brain's answers
}

// Server is the double. Start makes one.
type Server struct {
	cfg  Config
	ln   net.Listener
	http *http.Server
	quit chan struct{} // closed when the server closes; it ends hangs
	done chan struct{} // closed when it has ended

	mu         sync.Mutex
	rules      []*Rule
	requests   []*Request
	unexpected []string
	changed    chan struct{} // closed and renewed at every change of requests
}

// Start starts a server; it is listening when Start returns.
func Start(cfg Config) (*Server, error) {
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:0"
	}
	ln, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("model double: %w", err)
	}
	s := &Server{cfg: cfg, ln: ln, quit: make(chan struct{}), done: make(chan struct{}), changed: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("HEAD /{$}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /v1/messages", s.messages)
	mux.HandleFunc("POST /v1/messages/count_tokens", s.countTokens)
	mux.HandleFunc("/", s.unknown)
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(ln) // ends with ErrServerClosed
	}()
	return s, nil
}

// Close ends the server and what it is answering.
func (s *Server) Close() error {
	s.mu.Lock()
	select {
	case <-s.quit:
	default:
		close(s.quit)
	}
	s.mu.Unlock()
	err := s.http.Close()
	<-s.done
	return err
}

// URL is the value for ANTHROPIC_BASE_URL.
func (s *Server) URL() string { return "http://" + s.ln.Addr().String() }

// Script puts rules in front of the brain, before those that are there already.
func (s *Server) Script(rules ...Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*Rule
	for _, r := range rules {
		if r.Times == 0 {
			r.Times = -1
		}
		list = append(list, &r)
	}
	s.rules = append(list, s.rules...)
}

// Reset forgets all rules and records.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules, s.requests, s.unexpected = nil, nil, nil
	s.wake()
}

// Requests are the model calls so far, oldest first, as copies.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.copies()
}

func (s *Server) copies() []Request {
	list := make([]Request, len(s.requests))
	for i, r := range s.requests {
		list[i] = *r
	}
	return list
}

// Unexpected lists requests to paths that the double does not know.
func (s *Server) Unexpected() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.unexpected)
}

// Await waits until cond holds for the requests. It looks at every change.
func (s *Server) Await(ctx context.Context, cond func([]Request) bool) error {
	for {
		s.mu.Lock()
		list, changed := s.copies(), s.changed
		s.mu.Unlock()
		if cond(list) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting for model requests, %d so far: %w", len(list), context.Cause(ctx))
		}
	}
}

// wake tells those who wait that something changed. The caller holds mu.
func (s *Server) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// update changes a record.
func (s *Server) update(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	s.wake()
}

// maxBody is the most that a request may hold, in bytes; the real API has the same limit.
const maxBody = 32 << 20

func (s *Server) messages(w http.ResponseWriter, hr *http.Request) {
	at := time.Now()
	body, err := io.ReadAll(http.MaxBytesReader(w, hr.Body, maxBody))
	if err != nil {
		fail(w, http.StatusRequestEntityTooLarge, "request_too_large", "Request exceeds the maximum size")
		return
	}
	r := parse(body)
	r.At, r.Path, r.SessionID = at, hr.URL.RequestURI(), hr.Header.Get("x-claude-code-session-id")
	var steps []Step
	s.update(func() {
		r.ID = len(s.requests) + 1
		s.requests = append(s.requests, r)
		steps = s.pick(r)
	})
	w.Header().Set("request-id", "req_"+uuid.NewString())
	p := &player{s: s, w: w, ctx: hr.Context(), r: r}
	p.play(steps)
	s.update(func() { r.End, r.Cancelled = time.Now(), hr.Context().Err() != nil })
}

// pick finds the rule that answers r, or the brain. The caller holds mu.
func (s *Server) pick(r *Request) []Step {
	for _, rule := range s.rules {
		if rule.Times != 0 && (rule.Match == nil || rule.Match(r)) {
			rule.Times--
			return rule.Steps
		}
	}
	return think(r, s.cfg.Pace)
}

func (s *Server) countTokens(w http.ResponseWriter, hr *http.Request) {
	n, _ := io.Copy(io.Discard, http.MaxBytesReader(w, hr.Body, maxBody))
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"input_tokens":%d}`, n/bytesPerToken)
}

func (s *Server) unknown(w http.ResponseWriter, hr *http.Request) {
	s.update(func() { s.unexpected = append(s.unexpected, hr.Method+" "+hr.URL.Path) })
	fail(w, http.StatusNotFound, "not_found_error", "no such path")
}

func fail(w http.ResponseWriter, status int, kind, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(errorBody(kind, message)) // the client may have gone
}

func errorBody(kind, message string) any {
	return map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": message}}
}
