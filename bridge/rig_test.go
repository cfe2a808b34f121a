package bridge

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/access"
	"magpie/bridge/delivery"
	"magpie/bridge/delivery/deliverytest"
	"magpie/bridge/turncard"
	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
)

// bridgeRig is a bridge with a real store and the scripted agent, between a test and a messenger.
type bridgeRig struct {
	*testing.T
	bridge *Bridge
	out    delivery.Messenger
	config claude.Config
	store  *deliverytest.Store
	pool   *claude.Pool
	logs   *logbook
	stop   func()
}

// room is the chat of the tests.
var room = chat.FeishuChat("oc_1")

// newBridgeRig makes a bridge that does not run yet.
func newBridgeRig(t *testing.T, out delivery.Messenger, change ...func(*claude.Config)) *bridgeRig {
	t.Helper()
	l := &bridgeRig{T: t, out: out, store: deliverytest.NewStore(t), logs: &logbook{tb: t}, stop: func() {}}
	c := claudetest.ScriptedConfig(t)
	for _, f := range change {
		f(&c)
	}
	var err error
	c.Instance, err = l.store.Instance()
	l.must(err)
	l.config = c
	l.pool = claude.NewPool(c)
	l.bridge = New(Config{
		Access: access.Config{Allow: []string{"*"}}, Project: c.Project, Node: "here", Context: contextmgr.Defaults(),
		MaxAge: time.Hour, Shutdown: 4 * time.Second,
	}, l.store.DB, l.pool, out, zerolog.New(l.logs))
	t.Cleanup(func() { l.stop(); l.pool.Close() })
	return l
}

func (l *bridgeRig) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// remake makes the bridge again, with another configuration. It must not run yet.
func (l *bridgeRig) remake(change func(*Config)) {
	cfg := *l.bridge.cfg
	change(&cfg)
	l.bridge = New(cfg, l.bridge.db, l.pool, l.out, l.bridge.log)
}

// start runs the bridge until stop.
func (l *bridgeRig) start() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.bridge.Run(ctx) }()
	l.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			l.Errorf("bridge: %v", err)
		}
	})
}

// takePlaces leaves no place for turns until they are freed: questions queue meanwhile.
func takePlaces(b *Bridge) (free func()) {
	places := 0
	for b.queues.turns.jobs.Reserve() {
		places++
	}
	return func() {
		for range places {
			b.queues.turns.jobs.Release()
		}
	}
}

// flush delivers what can be delivered at once.
func flush(ctx context.Context, o *delivery.Outbox) {
	stop := make(chan struct{})
	close(stop)
	o.Run(ctx, stop)
}

// answerWith answers the bridge's turns without an agent.
func answerWith(b *Bridge, answer func(context.Context, *turn) turncard.Outcome) {
	b.queues.turns.run = func(ctx context.Context, c db.Claim) {
		b.runner.runWith(ctx, newTurn(b.cfg, b.db, c), answer)
	}
}

// say passes a message to the bridge, as the platform does.
func (l *bridgeRig) say(id, text string) {
	l.Helper()
	l.must(l.bridge.HandleMessage(l.Context(), incoming(id, text)))
}

func incoming(id, text string) chat.Incoming {
	return chat.Incoming{Key: room, Kind: chat.Private, ID: id, Text: text, Actor: chat.Actor{ID: "ou_1"},
		Time: time.Now(), ToBot: true}
}

// until waits until cond holds.
func (l *bridgeRig) until(what string, cond func() bool) {
	l.Helper()
	deliverytest.Until(l.T, what, cond)
}

// sql changes the database behind the bridge's back.
func (l *bridgeRig) sql(statement string) {
	l.Helper()
	l.store.SQL(statement)
}

// count asks the database for a number.
func (l *bridgeRig) count(query string) int {
	l.Helper()
	return l.store.Count(query)
}

// stopsQuietly checks that nothing that was stopped so far looks like a failure to the operator.
func (l *bridgeRig) stopsQuietly() {
	l.Helper()
	for line := range strings.Lines(l.logs.String()) {
		failure := strings.Contains(line, `"level":"warn"`) || strings.Contains(line, `"level":"error"`)
		if failure && strings.Contains(line, context.Canceled.Error()) {
			l.Errorf("logged as a failure: %s", line)
		}
	}
}

// logbook keeps what the bridge logs, and shows it with the test's own output.
type logbook struct {
	tb testing.TB
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tb.Logf("%s", bytes.TrimSpace(p))
	return l.b.Write(p)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
