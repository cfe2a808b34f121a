package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"magpie/db/sqlite"
	"magpie/internal/door"
	"magpie/internal/i18n"
	"magpie/internal/operator/config"
	"magpie/internal/operator/doctor"
)

// listen opens the address of the pages. It warns if other machines can reach them.
func listen(c config.HTTP, log zerolog.Logger) (net.Listener, error) {
	ln, err := net.Listen("tcp", c.Address())
	if err != nil {
		return nil, i18n.Mistakef("[http] listen：%v", "[http] listen: %v",
			doctor.ExplainListen(err, c.Address(), "[http] listen (MAGPIE_HTTP_LISTEN)"))
	}
	log.Info().Stringer("address", ln.Addr()).Msg("http: listening")
	if at, err := netip.ParseAddrPort(ln.Addr().String()); err != nil || !at.Addr().Unmap().IsLoopback() {
		log.Warn().Stringer("address", ln.Addr()).
			Msg("[http] listen: other machines can read the metrics; there is no login")
	}
	if !c.HasAPI() {
		log.Warn().Msg("[http] listen: there is no API for programs, because their tokens could be read on the way to this address; " +
			"a proxy with https and [http] public_url would open it")
	}
	return ln, nil
}

// healthPages serves /metrics, /healthz (liveness), /readyz (readiness), and what programs ask.
func (p *program) healthPages() http.Handler {
	h := health{probe: p.store.CheckHealth, doors: p.health, isRemote: !p.cfg.DB.DSN().IsFile()}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", p.inHouse(p.metrics.handler()))
	mux.Handle("GET /healthz", p.inHouse(http.HandlerFunc(h.serveLive)))
	mux.Handle("GET /readyz", p.inHouse(http.HandlerFunc(h.serveReady)))
	if p.api != nil {
		programs := p.api.Handler()
		mux.Handle("/v1/", programs)
		mux.Handle("/api/", programs)
	}
	return mux
}

// inHouse serves pages that have no login, but not under the address for programs of other machines.
func (p *program) inHouse(pages http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if host := p.cfg.HTTP.PublicHost(); host != "" && strings.EqualFold(hostOf(r.Host), host) {
			http.NotFound(w, r)
			return
		}
		pages.ServeHTTP(w, r)
	})
}

type health struct {
	probe func(context.Context) error // of the store; must return when its context ends
	doors func() door.Health
	// the store is on a server: a restart of this process does not help if that does not answer
	isRemote bool
}

// storeHealth reports whether the store accepts writes.
type storeHealth struct {
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

// platformHealth is the state of the websocket and of the HTTP API.
type platformHealth struct {
	Door        string     `json:"door,omitempty"` // of several apps
	Connected   bool       `json:"connected"`
	Since       *time.Time `json:"since,omitempty"`  // of the last change
	CircuitOpen bool       `json:"api_circuit_open"` // its HTTP API does not answer
	Error       string     `json:"error,omitempty"`
	Do          string     `json:"do,omitempty"` // what the operator must do
}

// serveLive reports whether the process and its store work. It ignores the platform and a database server: a restart does
// not help if they cannot be reached.
func (h health) serveLive(w http.ResponseWriter, r *http.Request) {
	store := h.checkStore(r.Context())
	live := store.OK || h.isRemote
	writeHealth(w, live, struct {
		Live  bool        `json:"live"`
		Store storeHealth `json:"store"`
	}{live, store})
}

// serveReady reports whether messages are received and answered, and if not, why and since when.
func (h health) serveReady(w http.ResponseWriter, r *http.Request) {
	store, platform := h.checkStore(r.Context()), platformOf(h.doors())
	ready := store.OK && platform.Connected && !platform.CircuitOpen
	writeHealth(w, ready, struct {
		Ready    bool           `json:"ready"`
		Store    storeHealth    `json:"store"`
		Platform platformHealth `json:"platform"`
	}{ready, store, platform})
}

// checkStore has its own timeout: a health check must answer even while the database hangs.
func (h health) checkStore(ctx context.Context) storeHealth {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	if err := h.probe(ctx); err != nil {
		return storeHealth{Error: errorText(err)}
	}
	return storeHealth{OK: true}
}

func platformOf(st door.Health) platformHealth {
	h := platformHealth{Door: st.Channel, Connected: st.Connected, CircuitOpen: st.CircuitOpen}
	if st.Hint != nil {
		h.Do = errorText(st.Hint)
	}
	if !st.Since.IsZero() {
		since := st.Since.UTC()
		h.Since = &since
	}
	if !st.Connected && st.LastError != nil {
		h.Error = errorText(st.LastError)
	}
	return h
}

// writeHealth responds with 503 if something is wrong, which load balancers and service managers understand. It is
// never cached.
func writeHealth(w http.ResponseWriter, good bool, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if !good {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(body) // fails only if the caller has gone
}

// probeTime is how long the store may take to answer.
const probeTime = 5 * time.Second

// statusLine describes the doors in one line.
func (p *program) statusLine() string {
	if len(p.apps) == 0 {
		return "waiting for people in the terminal"
	}
	h := p.health()
	line := statusLine(h)
	if h.Channel != "" {
		line += " (" + h.Channel + ")"
	}
	return line
}

// health is that of the doors. It names one only where there are several apps.
func (p *program) health() door.Health {
	h := p.doors.Health()
	if len(p.apps) < 2 {
		h.Channel = ""
	}
	return h
}

// statusLine describes the connection in one line.
func statusLine(st door.Health) string {
	var since string
	if !st.Since.IsZero() {
		since = " since " + st.Since.Format(time.DateTime)
	}
	switch {
	case st.Connected:
		return "connected to the platform" + since
	case st.LastError == nil:
		return "connecting to the platform"
	}
	// The error may have several lines, and systemd would read the second one as a separate assignment.
	return "not connected to the platform" + since + ": " + strings.Join(strings.Fields(errorText(st.LastError)), " ")
}

// watchdogProbe is the probe of the store for systemd's watchdog. A lost database file does not fail it: this process
// holds the only copy of the content until it is saved, and a restart would lose it. Nor does a database server, which a
// restart would not bring back, while it would end the running turns.
func watchdogProbe(healthy func(context.Context) error, isRemote bool) func(context.Context) error {
	if isRemote {
		return func(context.Context) error { return nil }
	}
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, probeTime)
		defer cancel()
		if err := healthy(ctx); !errors.As(err, new(*sqlite.LostError)) {
			return err
		}
		return nil
	}
}

// Limits of connections: a client that does nothing, or reads and sends too slowly, must not hold one forever.
const (
	headerLimit = 10 * time.Second
	pageLimit   = 30 * time.Second // a request or an answer of the health pages, including the probe of the store
	idleLimit   = 2 * time.Minute  // longer than the usual interval of health checks and scrapes
)

// healthServer is the server of the health pages, whose requests and answers are short.
func healthServer(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadTimeout: pageLimit, WriteTimeout: pageLimit}
}

// serveHTTP serves until ctx is done. It sets only limits that an open stream of events does not meet.
func serveHTTP(ctx context.Context, ln net.Listener, srv *http.Server) error {
	srv.ReadHeaderTimeout, srv.IdleTimeout = headerLimit, idleLimit
	srv.BaseContext = func(net.Listener) context.Context { return ctx }
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() }) // not Shutdown, which would wait for open streams
	defer stop()
	if err := srv.Serve(ln); ctx.Err() == nil {
		return err
	}
	return nil
}
