package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge"
	"magpie/db"
	"magpie/db/cluster"
	"magpie/db/dbtest"
	"magpie/db/sqlite"
	"magpie/feishu"
	"magpie/internal/claude"
	"magpie/internal/convo"
	"magpie/internal/door"
	"magpie/internal/feishusim"
	"magpie/internal/operator/config"
)

// get requests a page of the program.
func (r *rig) get(path string) (status int, body string) {
	r.Helper()
	resp, err := http.Get("http://" + r.prog.http.Addr().String() + path)
	must(r, err)
	defer resp.Body.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(resp.Body)
	must(r, err)
	return resp.StatusCode, string(data)
}

func withPages(c *config.Config) { c.HTTP.Listen = ":0" }

func TestMetrics(t *testing.T) {
	r := newRig(t, withPages)
	r.ask("数到 3")
	var page string
	r.until("the turn to be counted", func() bool { // after it was logged
		var status int
		status, page = r.get("/metrics")
		if status != http.StatusOK {
			t.Fatalf("status %d: %s", status, page)
		}
		return strings.Contains(page, `magpie_turns_total{state="done"} 1`)
	})
	for _, want := range []string{
		`magpie_turns_total{state="done"} 1`, `magpie_turns_total{state="cancelled"} 0`,
		"magpie_turn_first_text_seconds_count 1", "magpie_turn_duration_seconds_count 1", "magpie_store_up 1",
		"magpie_platform_events_total 1", "magpie_cli_process_starts_total 1", "magpie_outbox_pending ",
		"magpie_turns_queued 0", "magpie_platform_connected 1", "magpie_oldest_event_seconds 0", "go_goroutines ", "process_open_fds ",
	} {
		if !strings.Contains(page, "\n"+want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if !regexp.MustCompile(`\nmagpie_tokens_total{kind="output"} [1-9]`).MatchString(page) {
		t.Error("the turn's tokens are not counted")
	}
	// The metrics contain neither IDs of people or chats nor texts.
	if id := regexp.MustCompile(`\bo[cum]_\w+|小明|数到`).FindString(page); id != "" {
		t.Errorf("the page contains %s", id)
	}
}

// A value that cannot be read is absent. The others have the unit in their name.
func TestMetricsOfTheParts(t *testing.T) {
	var s snapshot
	m := newMetrics(func(context.Context) snapshot { return s }, []string{""}, 1)
	m.countTurn(bridge.TurnEnd{State: convo.Done, FirstText: 2 * time.Second, Took: 9 * time.Second,
		Usage: &db.Usage{Input: 10, Output: 20, CacheRead: 30, CacheNew: 40, CostUSD: .5}})
	m.countTurn(bridge.TurnEnd{State: convo.Failed, Took: time.Second})
	page := func() string {
		w := httptest.NewRecorder()
		m.handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		if w.Code != http.StatusOK {
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
		return w.Body.String()
	}
	if got := page(); !strings.Contains(got, "magpie_store_up 0") || strings.Contains(got, "magpie_outbox") ||
		strings.Contains(got, "magpie_cli_limit_") || !strings.Contains(got, "magpie_cli_keep_alive_seconds 0\n") {
		t.Errorf("the store cannot be read, and the page says\n%s", got)
	}
	s = snapshot{
		Oldest:  time.Now().Add(-time.Minute),
		Cluster: &cluster.Stats{Living: 3, Rooms: 40, Conflicts: 5, ShutOut: 6}, Forwarded: 7,
		Store: &db.Backlog{Turns: 3, Posts: 2, Oldest: time.Now().Add(-time.Hour)},
		Apps: []appStatus{{"feishu", feishu.Status{Reconnects: 4, CircuitOpen: true, Events: 9, Backfilled: 8, Calls: feishu.Calls{Limited: 5},
			Silent: feishu.SilentCounts{Early: 2, Late: 1}}}},
		CLI:    claude.PoolStats{Running: 1, Idle: 6, Spare: 8, Waiting: 7, Started: 11},
		Limits: claude.Limits{Turns: 12, Processes: 68, Idle: 2 * time.Hour, Cores: 3, Memory: 1 << 30},
	}
	got := page()
	for _, want := range []string{
		`magpie_turns_total{state="done"} 1`, `magpie_turns_total{state="failed"} 1`,
		`magpie_tokens_total{kind="input"} 10`, `magpie_tokens_total{kind="cache_write"} 40`,
		`magpie_cost_usd_total 0.5`, "magpie_turn_first_text_seconds_count 1",
		`magpie_turn_first_text_seconds_bucket{le="2"} 1`, "magpie_turn_duration_seconds_sum 10",
		"magpie_bridges 3", "magpie_rooms 40", "magpie_store_conflicts_total 5", "magpie_store_shut_out_total 6",
		"magpie_forwarded_events 7", "magpie_turns_queued 3", "magpie_outbox_pending 2",
		"magpie_platform_connected 0", "magpie_platform_reconnects_total 4",
		`magpie_platform_calls_total{class="limited"} 5`, `magpie_cli_processes{state="running"} 1`,
		`magpie_cli_processes{state="idle"} 6`, `magpie_cli_processes{state="spare"} 8`, "magpie_turns_waiting_for_process 7",
		`magpie_cli_limit{of="turns"} 12`, `magpie_cli_limit{of="processes"} 68`, "magpie_cli_keep_alive_seconds 7200",
		"magpie_cli_limit_cores 3", "magpie_cli_limit_memory_bytes 1.073741824e+09", "magpie_cli_process_starts_total 11",
		"magpie_platform_circuit_open 1", "magpie_platform_events_total 9",
		"magpie_platform_backfilled_messages_total 8", `magpie_platform_silent_connections_total{deadline="early"} 2`,
		`magpie_platform_silent_connections_total{deadline="late"} 1`,
	} {
		if !strings.Contains(got, "\n"+want+"\n") {
			t.Errorf("the page lacks %s", want)
		}
	}
	if !regexp.MustCompile(`\nmagpie_outbox_oldest_seconds 36\d\d`).MatchString(got) {
		t.Error("the age of the oldest answer is missing")
	}
	if !regexp.MustCompile(`\nmagpie_oldest_event_seconds 6\d`).MatchString(got) {
		t.Error("the age of the oldest event is missing")
	}
}

// readiness is the response of /readyz.
type readiness struct {
	Ready    bool
	Store    storeHealth
	Platform platformHealth
}

func (r *rig) readiness() (int, readiness) {
	r.Helper()
	status, body := r.get("/readyz")
	var got readiness
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		r.Fatalf("%s: %v", body, err)
	}
	return status, got
}

// TestReadinessNamesTheCircuit: monitoring uses the field's name.
func TestReadinessNamesTheCircuit(t *testing.T) {
	h := health{
		probe: func(context.Context) error { return nil },
		doors: func() door.Health { return door.Health{Connected: true, CircuitOpen: true} },
	}
	w := httptest.NewRecorder()
	h.serveReady(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), `"api_circuit_open":true`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// becomes waits until /readyz says so.
func (r *rig) becomes(want int, cond func(readiness) bool) (got readiness) {
	r.Helper()
	r.until(fmt.Sprintf("readiness %d", want), func() bool {
		var status int
		status, got = r.readiness()
		return status == want && cond(got)
	})
	return got
}

func TestHealthAndReadiness(t *testing.T) {
	r := newRig(t, withPages)
	r.becomes(http.StatusOK, func(got readiness) bool { return got.Ready && got.Platform.Since != nil && got.Store.OK })

	r.sim.RefuseEndpoint(1, "busy")
	r.sim.DropConnections(true)
	r.await("the end of the connection", func(v *feishusim.View) bool { return v.Connections() == 0 })
	got := r.becomes(http.StatusServiceUnavailable, func(got readiness) bool {
		return strings.Contains(got.Platform.Error, "busy")
	})
	if got.Ready || got.Platform.Connected || got.Platform.Since == nil || !got.Store.OK {
		t.Errorf("without the platform: %+v", got)
	}
	// a slow disk makes this fail for a while
	r.until("/livez without the platform", func() bool {
		status, _ := r.get("/healthz")
		return status == http.StatusOK
	})

	r.sim.RefuseEndpoint(0, "")
	r.becomes(http.StatusOK, func(got readiness) bool { return got.Ready })
}

// A store that takes no writes is not healthy. PostgreSQL has no lock of all of it: TestHealthOfAServerThatIsAway.
func TestHealthOfAStoreThatTakesNoWrites(t *testing.T) {
	dbtest.OfSQLite(t)
	r := newRig(t, withPages)
	r.becomes(http.StatusOK, func(got readiness) bool { return got.Ready })
	raw, err := sql.Open("sqlite3", databaseOf(r.cfg)+"?_txlock=immediate")
	must(t, err)
	defer raw.Close() //nolint:errcheck // only for the lock
	lock, err := raw.BeginTx(t.Context(), nil)
	must(t, err)
	for _, path := range []string{"/healthz", "/readyz"} {
		if status, body := r.get(path); status != http.StatusServiceUnavailable ||
			!strings.Contains(body, `"error":"`) {
			t.Errorf("%s while the store takes no writes: %d %s", path, status, body)
		}
	}
	must(t, lock.Rollback())
	r.becomes(http.StatusOK, func(got readiness) bool { return got.Ready })
}

// If the store does not respond, the check fails after a timeout.
func TestHealthOfAStoreThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := health{
			probe: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
			doors: func() door.Health { return door.Health{} },
		}
		w, began := httptest.NewRecorder(), time.Now()
		h.serveLive(w, httptest.NewRequest(http.MethodGet, "/healthz", nil))
		if took := time.Since(began); took != probeTime || w.Code != http.StatusServiceUnavailable ||
			!strings.Contains(w.Body.String(), "timeout") {
			t.Errorf("after %v: %d %s", took, w.Code, w.Body)
		}
	})
}

// A database server that cannot be reached makes the program not ready, but no restart would help.
func TestHealthOfAServerThatIsAway(t *testing.T) {
	t.Parallel()
	h := health{
		probe: func(context.Context) error { return errors.New("no route") }, isRemote: true,
		doors: func() door.Health { return door.Health{Connected: true} },
	}
	for path, tc := range map[string]struct {
		serve http.HandlerFunc
		code  int
	}{"/healthz": {h.serveLive, http.StatusOK}, "/readyz": {h.serveReady, http.StatusServiceUnavailable}} {
		w := httptest.NewRecorder()
		tc.serve(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != tc.code || !strings.Contains(w.Body.String(), "no route") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// pipeListener accepts connections within this process, whose time a test controls.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error { l.once.Do(func() { close(l.closed) }); return nil }

func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// A client that does nothing, or reads or sends too slowly, cannot hold a connection to the health pages forever.
func TestNobodyHoldsAHealthPageOpen(t *testing.T) {
	t.Parallel()
	const page = "GET / HTTP/1.1\r\nHost: localhost\r\n"
	for name, tc := range map[string]struct {
		sends string
		reads bool // at once
	}{
		"nothing":              {"", true},
		"half a request":       {page, true},
		"a body that is late":  {page + "Content-Length: 1000\r\n\r\n", true},
		"one request":          {page + "\r\n", true},
		"a reader that sleeps": {page + "\r\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				ln, ended := newPipeListener(), make(chan error, 1)
				pages := healthServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					_, _ = io.WriteString(w, strings.Repeat("x", 1<<20)) // more than any buffer holds
				}))
				go func() { ended <- serveHTTP(ctx, ln, pages) }()
				client, server := net.Pipe()
				ln.conns <- server
				_, err := io.WriteString(client, tc.sends)
				must(t, err)
				must(t, client.SetReadDeadline(time.Now().Add(2*time.Hour)))
				if !tc.reads {
					time.Sleep(time.Hour)
				}
				got, err := io.ReadAll(client)
				if err != nil || !tc.reads && len(got) > 0 {
					t.Errorf("%d bytes, %v", len(got), err)
				}
				cancel()
				must(t, <-ended)
			})
		})
	}
}

// A stream of events, such as that of the playground's page, stays open however long nothing happens.
func TestAnEventStreamStaysOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		ln, ended := newPipeListener(), make(chan error, 1)
		page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			select {
			case <-time.After(24 * time.Hour):
				_, _ = io.WriteString(w, "data: news\n\n")
			case <-r.Context().Done():
			}
		})
		go func() { ended <- serveHTTP(ctx, ln, &http.Server{Handler: page}) }()
		client, server := net.Pipe()
		ln.conns <- server
		_, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
		must(t, err)
		if got, err := io.ReadAll(client); err != nil || !strings.Contains(string(got), "data: news") {
			t.Errorf("%q, %v", got, err)
		}
		cancel()
		must(t, <-ended)
	})
}

func TestListen(t *testing.T) {
	for address, want := range map[string]struct {
		host string
		warn bool
	}{
		":0": {"127.0.0.1", false}, "localhost:0": {"127.0.0.1", false}, "0.0.0.0:0": {"", true},
	} {
		var logs strings.Builder
		ln, err := listen(config.HTTP{Listen: address}, zerolog.New(&logs))
		must(t, err)
		if got := ln.Addr().String(); !strings.HasPrefix(got, want.host) ||
			strings.Contains(logs.String(), "other machines") != want.warn {
			t.Errorf("%s listens on %s and logs %s", address, got, &logs)
		}
		must(t, ln.Close())
	}
}

func TestStatusLine(t *testing.T) {
	at := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	for want, st := range map[string]door.Health{
		"connecting to the platform":                          {},
		"connected to the platform since 2026-05-04 03:02:01": {Connected: true, Since: at},
		"not connected to the platform: no route":             {LastError: errors.New("no route")},
		"not connected to the platform since 2026-05-04 03:02:01: a READY=1": {
			Since: at, LastError: errors.New("a\nREADY=1"),
		},
	} {
		if got := statusLine(st); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A lost database must not make systemd restart the program; any other failure must.
func TestALostDatabaseIsNoReasonForARestart(t *testing.T) {
	for name, tc := range map[string]struct {
		err    error
		remote bool
		want   bool
	}{
		"healthy":     {nil, false, true},
		"failing":     {errors.New("disk I/O error"), false, false},
		"lost":        {fmt.Errorf("write: %w", &sqlite.LostError{}), false, true},
		"on a server": {errors.New("connection refused"), true, true},
	} {
		probe := watchdogProbe(func(context.Context) error { return tc.err }, tc.remote)
		if err := probe(t.Context()); (err == nil) != tc.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		probe := watchdogProbe(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, false)
		if err := probe(t.Context()); err == nil || time.Since(began) != probeTime {
			t.Errorf("a store that hangs: %v after %v", err, time.Since(began))
		}
	})
}
