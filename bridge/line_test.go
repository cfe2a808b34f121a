package bridge

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3"
	"github.com/rs/zerolog"

	"magpie/bridge/access"
	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
)

// line is a bridge with a real store and the scripted agent, between a test and a messenger.
type line struct {
	*testing.T
	bridge *Bridge
	config claude.Config
	path   string // of the database
	pool   *claude.Pool
	logs   *logbook
	stop   func()
}

// room is the chat of the tests.
var room = chat.FeishuChat("oc_1")

// newLine makes a bridge that does not run yet.
func newLine(t *testing.T, out Messenger, change ...func(*claude.Config)) *line {
	t.Helper()
	l := &line{T: t, path: filepath.Join(t.TempDir(), "magpie.db"), logs: &logbook{tb: t}, stop: func() {}}
	store, err := db.Open(t.Context(), db.Config{URL: "sqlite://" + l.path})
	l.must(err)
	c := claudetest.ScriptedConfig(t)
	for _, f := range change {
		f(&c)
	}
	c.Instance, err = store.Instance()
	l.must(err)
	l.config = c
	l.pool = claude.NewPool(c)
	l.bridge = New(Config{
		Access: access.Config{Allow: []string{"*"}}, Project: c.Project, Node: "here", Context: contextmgr.Defaults(),
		MaxAge: time.Hour, Shutdown: 4 * time.Second,
	}, store, l.pool, out, zerolog.New(l.logs))
	t.Cleanup(func() { l.stop(); l.pool.Close(); l.must(store.Close()) })
	return l
}

func (l *line) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// start runs the bridge until stop.
func (l *line) start() {
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

// say takes in a message, as the platform hands it over.
func (l *line) say(id, text string) {
	l.Helper()
	l.must(l.bridge.Message(l.Context(), heard(id, text)))
}

func heard(id, text string) chat.Incoming {
	return chat.Incoming{Key: room, Kind: chat.Private, ID: id, Text: text, Actor: chat.Actor{ID: "ou_1"}, Time: time.Now(), ToBot: true}
}

// until waits until cond holds.
func (l *line) until(what string, cond func() bool) {
	l.Helper()
	for deadline := time.Now().Add(90 * time.Second); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			l.Fatalf("waiting for %s", what)
		}
	}
}

// sql changes the database behind the bridge's back.
func (l *line) sql(statement string) {
	l.Helper()
	side := l.side()
	_, err := side.Exec(statement)
	l.must(errors.Join(err, side.Close()))
}

// count asks the database for a number.
func (l *line) count(query string) (n int) {
	l.Helper()
	side := l.side()
	l.must(errors.Join(side.QueryRow(query).Scan(&n), side.Close()))
	return n
}

func (l *line) side() *sql.DB {
	l.Helper()
	side, err := sql.Open("sqlite3", "file:"+l.path+"?_busy_timeout=5000")
	l.must(err)
	return side
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
