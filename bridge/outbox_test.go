package bridge

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
)

// slowHand is a messenger whose edits take as long as the painter lets them.
type slowHand struct {
	recorder
	mu      sync.Mutex
	editing int
	overlap bool          // a card was closed while it was being edited
	closed  chan struct{} // closed when a card is
}

func (s *slowHand) Edit(ctx context.Context, _ string, _ chat.Card) error {
	s.edit(1)
	defer s.edit(-1)
	pause(ctx, time.Minute)
	return ctx.Err()
}

func (s *slowHand) edit(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.editing += n
}

func (s *slowHand) Close(context.Context, string, chat.Card) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.overlap = s.editing > 0
	close(s.closed)
	return nil
}

// The outbox looks for work every second; what it draws last must not meet what the painter is still drawing.
func TestTheLastPictureWaitsForThePainter(t *testing.T) {
	store, err := db.Open(t.Context(), db.Config{URL: "sqlite://" + filepath.Join(t.TempDir(), "magpie.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	cli := claudetest.ScriptedConfig(t)
	cli.Instance = t.Name()
	pool := claude.NewPool(cli)
	t.Cleanup(pool.Close)
	out := &slowHand{closed: make(chan struct{})}
	b := New(Config{Access: Access{Allow: []string{"*"}}, Project: cli.Project, Node: "here", Context: contextmgr.Defaults(), Shutdown: 10 * time.Second},
		store, pool, out, zerolog.Nop())
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})

	m := chat.Incoming{
		Key: chat.FeishuChat("oc_1"), Kind: chat.Private, ID: "om_1", Actor: chat.Actor{ID: "ou_1"}, Time: time.Now(), Text: "hello", ToBot: true,
	}
	if err := b.Message(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	select {
	case <-out.closed:
	case <-time.After(20 * time.Second):
		t.Fatal("the card is not closed")
	}
	if out.overlap {
		t.Error("the card was closed while it was being edited")
	}
}
