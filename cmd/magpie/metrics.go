package main

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"magpie/bridge"
	"magpie/db"
	"magpie/db/cluster"
	"magpie/feishu"
	"magpie/internal/claude"
	"magpie/internal/convo"
)

// snapshot is the state of the program's parts, read for each scrape.
type snapshot struct {
	Store  *db.Backlog // nil = it could not be read
	Apps   []appStatus // the apps of Feishu; none = it is no door
	CLI    claude.PoolStats
	Limits claude.Limits
	Oldest time.Time // when the oldest event arrived that no bridge has handled yet; zero = none waits
	// Of several bridges of a database; nil = it is one of SQLite.
	Cluster   *cluster.Stats
	Forwarded int // events that wait for the bridges that have their chats
}

// appStatus is the state of an app of Feishu.
type appStatus struct {
	channel string
	feishu.Status
}

// metrics counts turns and exposes the state of the program in Prometheus format. No label contains the ID of a chat, a
// person or a message.
type metrics struct {
	read     func(context.Context) snapshot
	registry *prometheus.Registry
	byDoor   bool // with several apps there is a label for the door

	turns    *prometheus.CounterVec
	tokens   *prometheus.CounterVec
	cost     *prometheus.CounterVec
	first    prometheus.Histogram
	duration prometheus.Histogram

	unreadable prometheus.Gauge
}

// newMetrics makes the metrics of a program with these doors; more than one app of Feishu are told apart by a label.
func newMetrics(read func(context.Context) snapshot, doors []string, apps int) *metrics {
	var door []string
	if apps > 1 {
		door = []string{"door"}
	}
	m := &metrics{
		read: read, registry: prometheus.NewRegistry(), byDoor: apps > 1,
		turns: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "magpie_turns_total", Help: "Turns that have ended, by how they ended."}, append([]string{"state"}, door...)),
		tokens: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "magpie_tokens_total", Help: "Tokens that turns have used."}, append([]string{"kind"}, door...)),
		cost: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "magpie_cost_usd_total", Help: "What turns have cost, in US dollars, as the CLI reports it."}, door),
		first: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "magpie_turn_first_text_seconds", Help: "From the start of a turn to its first text.",
			Buckets: []float64{.25, .5, 1, 2, 3, 5, 8, 13, 21, 34, 60, 120, 300}}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "magpie_turn_duration_seconds", Help: "From the start of a turn to its end.",
			Buckets: []float64{1, 2, 5, 10, 20, 40, 60, 120, 300, 600, 1200, 3600, 7200}}),
	}
	m.unreadable = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "magpie_store_unreadable_rows",
		Help: "Rows of the database that could not be read when it was last looked through, once a day."})
	for _, channel := range doors { // Prometheus can only compute a rate for a series that exists
		for _, s := range []convo.Phase{convo.Done, convo.Failed, convo.Cancelled, convo.Interrupted} {
			m.turns.WithLabelValues(m.labels(channel, s.String())...)
		}
		for kind := range tokensOf(db.Usage{}) {
			m.tokens.WithLabelValues(m.labels(channel, kind)...)
		}
		m.cost.WithLabelValues(m.labels(channel)...)
	}
	m.registry.MustRegister(m.turns, m.tokens, m.cost, m.first, m.duration, m.unreadable, snapshotCollector{m.read, newPlatformDescs(door...)},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewBuildInfoCollector())
	return m
}

// labels are the values of a series' labels, the last one for the door.
func (m *metrics) labels(channel string, values ...string) []string {
	if m.byDoor {
		values = append(values, channel)
	}
	return values
}

// countTurn counts an ended turn.
func (m *metrics) countTurn(e bridge.TurnEnd) {
	door := e.Key.Channel
	m.turns.WithLabelValues(m.labels(door, e.State.String())...).Inc()
	m.duration.Observe(e.Took.Seconds())
	if e.FirstText > 0 {
		m.first.Observe(e.FirstText.Seconds())
	}
	if e.Usage == nil {
		return
	}
	for kind, n := range tokensOf(*e.Usage) {
		m.tokens.WithLabelValues(m.labels(door, kind)...).Add(float64(max(0, n)))
	}
	m.cost.WithLabelValues(m.labels(door)...).Add(max(0, e.Usage.CostUSD))
}

func tokensOf(u db.Usage) map[string]int64 {
	return map[string]int64{"input": u.Input, "output": u.Output, "cache_read": u.CacheRead, "cache_write": u.CacheNew}
}

// handler serves the metrics, to at most two scrapes at a time: more would only repeat the same queries.
func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 2, Timeout: 2 * probeTime})
}

// snapshotCollector is the collector of the snapshot.
type snapshotCollector struct {
	read func(context.Context) snapshot
	platformDescs
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("magpie_"+name, help, labels, nil)
}

// Names are part of the interface: dashboards refer to them. Counters end in _total, as Prometheus recommends.
var (
	descStore   = describe("store_up", "1 when the database could be read.")
	descBridges = describe("bridges", "Bridges that share the database; absent with SQLite.")
	descRooms   = describe("rooms", "Chats, with their topics, that this bridge answers; absent with SQLite.")
	descForward = describe("forwarded_events",
		"Messages and presses that wait for the bridges that answer in their chats; absent with SQLite.")
	descConflicts = describe("store_conflicts_total", "Transactions that met another one and were repeated; absent with SQLite.")
	descShutOut   = describe("store_shut_out_total",
		"Connections to the database that were refused because another bridge has taken over; absent with SQLite.")
	descQueued = describe("turns_queued", "Turns that have not begun.")
	descOutbox = describe("outbox_pending", "Texts and cards that the platform has not confirmed.")
	descOldest = describe("outbox_oldest_seconds",
		"Age of the oldest text or card that the platform has not confirmed.")
	descOldestEvent = describe("oldest_event_seconds",
		"Age of the oldest message or press that has arrived and that no bridge has handled yet.")
	descProcesses         = describe("cli_processes", "Processes of the CLI, by state.", "state")
	descWaitingForProcess = describe("turns_waiting_for_process", "Turns that wait for a free process slot.")
	descLimit             = describe("cli_limit",
		"How many turns may run, and how many processes of the CLI may exist.", "of")
	descKeepAlive = describe("cli_keep_alive_seconds",
		"How long an idle process of the CLI is kept; less if its memory is needed.")
	descLimitCores = describe("cli_limit_cores",
		"Cores from which the limit of turns was computed; absent if it was not.")
	descLimitMemory = describe("cli_limit_memory_bytes",
		"Free memory from which the limit of processes was computed; absent if it was not.")
	descProcessStarts = describe("cli_process_starts_total", "Processes of the CLI that were started.")
)

// platformDescs are the series about an app of Feishu.
type platformDescs struct{ connected, reconnects, silent, circuitOpen, events, backfilled, calls *prometheus.Desc }

// newPlatformDescs adds a label, if any, to all of them.
func newPlatformDescs(door ...string) platformDescs {
	of := func(name, help string, labels ...string) *prometheus.Desc {
		return describe("platform_"+name, help, append(labels, door...)...)
	}
	return platformDescs{
		connected:   of("connected", "1 while the long connection stands."),
		reconnects:  of("reconnects_total", "Long connections after the first."),
		silent:      of("silent_connections_total", "Connections that ended because nothing came.", "deadline"),
		circuitOpen: of("circuit_open", "1 while the platform's HTTP API does not answer."),
		events:      of("events_total", "Messages and presses that have arrived."),
		backfilled: of("backfilled_messages_total",
			"Messages of which no event arrived, found in the lists of messages."),
		calls: of("calls_total", "Calls to the platform's HTTP API, by what became of them.", "class"),
	}
}

// Describe implements prometheus.Collector.
func (p snapshotCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		descStore, descBridges, descRooms, descForward, descConflicts, descShutOut, descQueued, descOutbox, descOldest, p.connected, p.reconnects, p.silent, p.circuitOpen, p.events,
		descOldestEvent, p.backfilled, p.calls, descProcesses, descWaitingForProcess, descLimit, descKeepAlive, descLimitCores,
		descLimitMemory, descProcessStarts,
	} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (p snapshotCollector) Collect(to chan<- prometheus.Metric) {
	// A scrape must not hang with the database, so it has its own deadline.
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	put := func(d *prometheus.Desc, t prometheus.ValueType, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, t, v, labels...)
	}
	s := p.read(ctx)
	put(descStore, prometheus.GaugeValue, boolValue(s.Store != nil))
	// Without the store these series are missing. A zero would mean that nothing is waiting.
	if s.Store != nil {
		put(descQueued, prometheus.GaugeValue, float64(s.Store.Turns))
		put(descOutbox, prometheus.GaugeValue, float64(s.Store.Posts))
		put(descOldest, prometheus.GaugeValue, secondsSince(s.Store.Oldest))
	}
	if c := s.Cluster; c != nil {
		put(descBridges, prometheus.GaugeValue, float64(c.Living))
		put(descRooms, prometheus.GaugeValue, float64(c.Rooms))
		put(descConflicts, prometheus.CounterValue, float64(c.Conflicts))
		put(descShutOut, prometheus.CounterValue, float64(c.ShutOut))
		if s.Store != nil {
			put(descForward, prometheus.GaugeValue, float64(s.Forwarded))
		}
	}
	put(descOldestEvent, prometheus.GaugeValue, secondsSince(s.Oldest))
	for _, a := range s.Apps {
		p.putPlatform(func(d *prometheus.Desc, t prometheus.ValueType, v float64, labels ...string) {
			if len(s.Apps) > 1 {
				labels = append(labels, a.channel)
			}
			put(d, t, v, labels...)
		}, a.Status)
	}
	put(descProcesses, prometheus.GaugeValue, float64(s.CLI.Running), "running")
	put(descProcesses, prometheus.GaugeValue, float64(s.CLI.Idle), "idle")
	put(descProcesses, prometheus.GaugeValue, float64(s.CLI.Spare), "spare")
	put(descWaitingForProcess, prometheus.GaugeValue, float64(s.CLI.Waiting))
	put(descLimit, prometheus.GaugeValue, float64(s.Limits.Turns), "turns")
	put(descLimit, prometheus.GaugeValue, float64(s.Limits.Processes), "processes")
	put(descKeepAlive, prometheus.GaugeValue, s.Limits.Idle.Seconds())
	if s.Limits.Cores > 0 {
		put(descLimitCores, prometheus.GaugeValue, float64(s.Limits.Cores))
	}
	if s.Limits.Memory > 0 {
		put(descLimitMemory, prometheus.GaugeValue, float64(s.Limits.Memory))
	}
	put(descProcessStarts, prometheus.CounterValue, float64(s.CLI.Started))
}

// putPlatform puts the series about Feishu.
func (p platformDescs) putPlatform(
	put func(*prometheus.Desc, prometheus.ValueType, float64, ...string), st feishu.Status,
) {
	put(p.connected, prometheus.GaugeValue, boolValue(st.Connected))
	put(p.reconnects, prometheus.CounterValue, float64(st.Reconnects))
	put(p.silent, prometheus.CounterValue, float64(st.Silent.Early), "early")
	put(p.silent, prometheus.CounterValue, float64(st.Silent.Late), "late")
	put(p.circuitOpen, prometheus.GaugeValue, boolValue(st.CircuitOpen))
	put(p.events, prometheus.CounterValue, float64(st.Events))
	put(p.backfilled, prometheus.CounterValue, float64(st.Backfilled))
	for class, n := range map[string]int64{
		"ok": st.Calls.OK, "refused": st.Calls.Refused, "limited": st.Calls.Limited, "unknown": st.Calls.Unknown,
	} {
		put(p.calls, prometheus.CounterValue, float64(n), class)
	}
}

func boolValue(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// secondsSince is the time since t in seconds, 0 for the zero time.
func secondsSince(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return max(0, time.Since(t).Seconds())
}
