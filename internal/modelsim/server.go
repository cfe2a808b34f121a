// Package modelsim is a double of the model's HTTP API (Messages) on the loopback interface, good enough for the real
// Claude Code CLI: start the CLI with ANTHROPIC_BASE_URL set to [Server.URL] and any ANTHROPIC_API_KEY.
//
// Answers come from scripts, which tests write, or from the brain: a small deterministic model that knows only what is
// in the request, so that its answers prove which context has reached the model.
//
// It does not imitate the CLI: tests run the real CLI, or claudetest/scripted.
package modelsim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidwall/gjson"

	"magpie/internal/httpdrain"
)

// Config is a server's address and speed.
type Config struct {
	Listen string        // a loopback address; empty = 127.0.0.1:0
	Pace   time.Duration // pause between two pieces of the brain's text; 0 = none
	Story  time.Duration // pause between two pieces of a story, so that a test can interrupt it; 0 = Pace
	Demo   bool          // the brain plays the playground's scenes, and lists what it can show
	// Observe is called for every request, before it is answered; nil = no call.
	Observe func(*Request)
}

// Server is the model's API. Its parts are embedded for their exported methods.
type Server struct {
	*script
	*record

	brain   brain
	observe func(*Request)
	url     string
	http    *http.Server
	stop    context.CancelFunc
	closing atomic.Bool        // answers end because of the server, not because of the client
	side    atomic.Int64       // numbers the requests that are no model calls
	accept  sync.WaitGroup     // the accept loop
	work    httpdrain.Handlers // handlers in work
}

// maxBody is the API's limit of a request.
const maxBody = 32 << 20

// Start starts a server on the loopback interface.
func Start(cfg Config) (*Server, error) {
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:0"
	}
	ln, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return nil, err
	}
	if a, ok := ln.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		return nil, errors.Join(fmt.Errorf("listen: %s is not a loopback address", cfg.Listen), ln.Close())
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{
		script: &script{}, record: newRecord(), brain: brain{cfg.Pace, cmp.Or(cfg.Story, cfg.Pace), cfg.Demo},
		observe: cfg.Observe,
		url:     "http://" + ln.Addr().String(), stop: stop,
	}
	s.http = &http.Server{
		Handler:           s.work.Wrap(s.routes()),
		ReadHeaderTimeout: time.Minute,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	s.accept.Go(func() { _ = s.http.Serve(ln) }) // ends with ErrServerClosed; an earlier end shows in every call
	return s, nil
}

// Close ends all answers and waits until nothing is running. Recorded requests can still be read.
func (s *Server) Close() error {
	s.closing.Store(true)
	s.stop()
	err := s.http.Close()
	s.accept.Wait()
	s.work.Wait()
	s.record.close()
	return err
}

// URL is what ANTHROPIC_BASE_URL is set to: http://127.0.0.1:<port>.
func (s *Server) URL() string { return s.url }

// Reset removes all rules and forgets all requests. Running answers continue, unrecorded.
func (s *Server) Reset() {
	s.script.clear()
	s.record.clear()
}

// routes records every path that the real API would not have, so that a test can see that the CLI has started to call
// something new.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	here := func(http.ResponseWriter, *http.Request) {} // the CLI checks by HEAD whether the server is there
	mux.HandleFunc("GET /{$}", here)
	mux.HandleFunc("GET /api/hello", here) // since 2.1.330
	mux.HandleFunc("POST /v1/messages", s.messages)
	mux.HandleFunc("POST /v1/messages/count_tokens", s.countTokens)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.unknown(r.Method + " " + r.URL.Path)
		writeError(w, s.sideID(), &apiError{http.StatusNotFound, "not_found_error", "Not Found"})
	})
	return mux
}

func (s *Server) sideID() string { return fmt.Sprintf("req_sim_side_%06d", s.side.Add(1)) }

// messages is one model call.
func (s *Server) messages(w http.ResponseWriter, r *http.Request) {
	body, ok := s.readBody(w, r)
	if !ok {
		return
	}
	call := s.record.addCall(parseRequest(r, body))
	req := call.incoming()
	if s.observe != nil {
		s.observe(req)
	}
	steps, ok := s.script.nextSteps(req)
	if !ok {
		steps = s.brain.think(req)
	}
	err := newAnswer(w, req, call).play(r.Context(), steps)
	call.finish(err != nil && !errors.Is(err, errCut) && !s.closing.Load())
	if errors.Is(err, errCut) {
		panic(http.ErrAbortHandler) // closes the connection
	}
}

// countTokens answers with the length of a request.
func (s *Server) countTokens(w http.ResponseWriter, r *http.Request) {
	body, ok := s.readBody(w, r)
	if !ok {
		return
	}
	setHeaders(w.Header(), s.sideID(), "application/json")
	_, _ = fmt.Fprintf(w, `{"input_tokens":%d}`, estimateTokens(body)) // the client may have left
}

// readBody reads an object with messages, or answers with an error.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		writeError(w, s.sideID(), &apiError{
			http.StatusRequestEntityTooLarge, "request_too_large", "Request exceeds the maximum size",
		})
	case err != nil:
		// Nobody is left to answer.
	case !gjson.ValidBytes(body) || !gjson.ParseBytes(body).IsObject():
		writeError(w, s.sideID(), &apiError{
			http.StatusBadRequest, "invalid_request_error", "The request body is not valid JSON",
		})
	case !gjson.GetBytes(body, "messages").IsArray():
		writeError(w, s.sideID(), &apiError{http.StatusBadRequest, "invalid_request_error", "messages: Field required"})
	default:
		return body, true
	}
	return nil, false
}
