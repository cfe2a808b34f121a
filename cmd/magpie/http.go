package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"magpie/feishu"
)

// address is where to listen. Without a host it is this machine only: the pages have no login.
func (c httpConfig) address() string {
	if strings.HasPrefix(c.Listen, ":") {
		return "127.0.0.1" + c.Listen
	}
	return c.Listen
}

func (c httpConfig) validate() error {
	if c.Listen == "" {
		return nil
	}
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		return fmt.Errorf("[http] listen %q: want host:port, or :port for this machine only", c.Listen)
	}
	return c.validateHosts()
}

// listen opens the address of the pages. It warns when other machines can reach them.
func (c httpConfig) listen(log zerolog.Logger) (net.Listener, error) {
	ln, err := net.Listen("tcp", c.address())
	if err != nil {
		return nil, fmt.Errorf("[http] listen: %w", err)
	}
	log.Info().Stringer("address", ln.Addr()).Msg("http: listening")
	if at, err := netip.ParseAddrPort(ln.Addr().String()); err != nil || !at.Addr().Unmap().IsLoopback() {
		log.Warn().Stringer("address", ln.Addr()).Msg("[http] listen: other machines can read the metrics; there is no login")
	}
	return ln, nil
}

// pages serves the metrics and tells how the program is: /healthz whether it lives, /readyz whether it can do its work.
func (p *program) pages() http.Handler {
	h := health{probe: p.store.Healthy, status: p.client.Status}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", p.metrics.handler())
	mux.HandleFunc("GET /healthz", h.live)
	mux.HandleFunc("GET /readyz", h.ready)
	return mux
}

type health struct {
	probe  func(context.Context) error // of the store; returns at the end of its context whatever happens
	status func() feishu.Status
}

// storeHealth is whether the store takes writes.
type storeHealth struct {
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

// platformHealth is how the long connection stands.
type platformHealth struct {
	Connected bool       `json:"connected"`
	Since     *time.Time `json:"since,omitempty"` // of the last change
	Away      bool       `json:"api_away"`        // its HTTP API does not answer
	Error     string     `json:"error,omitempty"`
	Do        string     `json:"do,omitempty"` // what the operator must do
}

// live answers whether the process and its store work. A platform that is away is no reason to start the program anew.
func (h health) live(w http.ResponseWriter, r *http.Request) {
	store := h.store(r.Context())
	answer(w, store.OK, struct {
		Live  bool        `json:"live"`
		Store storeHealth `json:"store"`
	}{store.OK, store})
}

// ready answers whether messages are received and answered, and if not, why and since when.
func (h health) ready(w http.ResponseWriter, r *http.Request) {
	store, platform := h.store(r.Context()), platformOf(h.status())
	ready := store.OK && platform.Connected && !platform.Away
	answer(w, ready, struct {
		Ready    bool           `json:"ready"`
		Store    storeHealth    `json:"store"`
		Platform platformHealth `json:"platform"`
	}{ready, store, platform})
}

func (h health) store(ctx context.Context) storeHealth {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	if err := h.probe(ctx); err != nil {
		return storeHealth{Error: err.Error()}
	}
	return storeHealth{OK: true}
}

func platformOf(st feishu.Status) platformHealth {
	h := platformHealth{Connected: st.Connected, Away: st.Away, Do: st.Hint}
	if !st.Since.IsZero() {
		since := st.Since.UTC()
		h.Since = &since
	}
	if !st.Connected && st.LastError != nil {
		h.Error = st.LastError.Error()
	}
	return h
}

func answer(w http.ResponseWriter, good bool, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if !good {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(body) // fails only when the caller has gone
}

// serveHTTP serves until ctx is done.
func serveHTTP(ctx context.Context, ln net.Listener, h http.Handler) error {
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() }) // a stream would keep a graceful shutdown waiting
	defer stop()
	if err := srv.Serve(ln); ctx.Err() == nil {
		return err
	}
	return nil
}
