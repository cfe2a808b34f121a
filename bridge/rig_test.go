package bridge

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"magpie/bridge/access"
	"magpie/bridge/delivery"
	"magpie/bridge/delivery/deliverytest"
	"magpie/bridge/workplace"
	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
	"magpie/internal/convo"
)

// bridgeRig is a bridge with a real store and the scripted agent, between a test and a messenger.
type bridgeRig struct {
	*testing.T
	parts
	out    delivery.Messenger
	rec    *deliverytest.Recorder // out, where that only records
	config claude.Config
	store  *deliverytest.Store
	pool   *claude.Pool
	logs   *logbook
	stop   func()
}

// room is the chat of the tests.
var room = chat.FeishuChat("oc_1")

// newRig makes a bridge before a messenger that records, which does not run yet.
func newRig(t *testing.T, change ...func(*claude.Config)) *bridgeRig {
	t.Helper()
	rec := &deliverytest.Recorder{}
	l := newBridgeRig(t, rec, change...)
	l.rec = rec
	return l
}

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
		Access: access.Config{Allow: []string{"*"}}, Projects: workplace.Set{Default: c.Project}, Node: "here",
		Context: contextmgr.Defaults(),
		MaxAge:  time.Hour, Shutdown: 4 * time.Second,
	}, l.store.DB, l.pool, out, zerolog.New(l.logs))
	t.Cleanup(func() { l.stop(); l.pool.Close() })
	return l
}

func must(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
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

// start runs the bridge until stop. It takes up what was left before it claims anything, also after open.
func (l *bridgeRig) start() {
	if q := l.queue(); isClosed(q.listed) {
		q.listed = make(chan struct{})
	}
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

// flush delivers what can be delivered at once.
func flush(ctx context.Context, o *delivery.Outbox) {
	stop := make(chan struct{})
	close(stop)
	o.Run(ctx, stop)
}

// untitled has no titles made.
func (l *bridgeRig) untitled() { l.remake(func(c *Config) { c.Context.Titles = false }) }

// say passes a message to the bridge, as the platform does.
func (l *bridgeRig) say(id, text string) {
	l.Helper()
	l.receive(incoming(id, text))
}

func (l *bridgeRig) receive(m chat.Incoming) {
	l.Helper()
	if err := l.bridge.HandleMessage(l.Context(), m); !errors.Is(err, chat.ErrDenied) { // which Feishu takes for stored
		l.must(err)
	}
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

// ended waits until that many turns have ended in a state.
func (l *bridgeRig) ended(state convo.Phase, n int) {
	l.Helper()
	l.until("the end of turns: "+state.String(), func() bool {
		return l.count(`SELECT COUNT(*) FROM turns WHERE state = '`+state.String()+`'`) == n
	})
}

// turnsOver waits until no turn runs or waits.
func (l *bridgeRig) turnsOver() {
	l.Helper()
	l.until("the end of all turns", func() bool {
		return l.count(`SELECT COUNT(*) FROM turns WHERE state IN ('queued', 'running')`) == 0
	})
}

// awaitTurns waits until this many turns have ended and nothing is left of them to be done.
func (l *bridgeRig) awaitTurns(turns int) {
	l.Helper()
	l.until("the end of the turn", func() bool {
		return strings.Count(l.logs.String(), `"message":"turn ended"`) == turns
	})
}

// settled waits until that many turns are done, and everything is delivered.
func (l *bridgeRig) settled(n int) {
	l.Helper()
	l.ended(convo.Done, n)
	l.sent()
}

// sent waits until everything is delivered.
func (l *bridgeRig) sent() {
	l.Helper()
	l.until("an empty outbox", func() bool { return l.unsent() == 0 })
}

func (l *bridgeRig) unsent() int { return l.count(`SELECT COUNT(*) FROM outbox`) }

// idle waits until no background work is left.
func (l *bridgeRig) idle() {
	l.Helper()
	l.until("the end of what is done on the side", func() bool {
		waiting, active := l.aside()
		return waiting+active == 0
	})
}

// accept stores a message as another process does, which does not begin to answer it.
func (l *bridgeRig) accept(m chat.Incoming) db.AcceptResult {
	l.Helper()
	got, err := l.store.Messages().Accept(l.Context(), db.Inbound{Incoming: m, Class: chat.Talk})
	l.must(err)
	return got
}

// claim begins a chat's next turn as another process does.
func (l *bridgeRig) claim(key chat.Key) db.Claim {
	l.Helper()
	c, err := l.store.Turns().Claim(l.Context(), key, newStart())
	l.must(err)
	return c
}

func newStart() db.Start {
	return db.Start{Session: uuid.NewString(), Prompt: uuid.NewString(), Node: "here", Resume: true}
}

// left is the only turn that runs by the database, such as one whose process is dead.
func (l *bridgeRig) left() db.Turn {
	l.Helper()
	list, err := l.store.Turns().Running(l.Context())
	if l.must(err); len(list) != 1 {
		l.Fatalf("%d turns run", len(list))
	}
	return list[0]
}

// chat is what is stored of the room.
func (l *bridgeRig) chat() db.Chat {
	l.Helper()
	c, err := l.store.Chats().Get(l.Context(), room)
	l.must(err)
	return c
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
