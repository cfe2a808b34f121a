package bridge

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"magpie/internal/chat"
)

// slow is a messenger whose calls take their time, and which notes when two of them are under way for the same card.
type slow struct {
	recorder
	takes time.Duration
	under atomic.Int32
	twice atomic.Bool
	ended atomic.Bool // the last value is there
	after atomic.Bool // something was drawn after it
}

func (s *slow) call(last bool) {
	if s.under.Add(1) > 1 {
		s.twice.Store(true)
	}
	s.after.CompareAndSwap(false, s.ended.Load() && !last)
	pause(context.Background(), s.takes)
	s.under.Add(-1)
	if last {
		s.ended.Store(true)
	}
}

func (s *slow) Post(_ context.Context, _ chat.Ref, c chat.Card, _ string) (string, error) {
	s.call(!c.Live)
	return "card", nil
}

func (s *slow) Edit(context.Context, string, chat.Card) error {
	s.call(false)
	return nil
}

func (s *slow) Close(context.Context, string, chat.Card) error {
	s.call(true)
	return nil
}

// The outbox looks for work all the time. It leaves the card alone until the painter's last call has ended.
func TestTheLastValueWaitsForThePainter(t *testing.T) {
	out := &slow{takes: 3 * poll / 2}
	l := newLine(t, out)
	l.start()
	l.say("om_1", "hello")
	l.until("the answer", out.ended.Load)
	l.until("an empty outbox", func() bool { return l.count(`SELECT COUNT(*) FROM outbox`) == 0 })
	if out.twice.Load() || out.after.Load() {
		t.Errorf("two drew on one card at the same time: %v; drawn after the last value: %v", out.twice.Load(), out.after.Load())
	}
}
