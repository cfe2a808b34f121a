package bridge

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"magpie/bridge/delivery/deliverytest"
	"magpie/bridge/turncard"
	"magpie/bridge/workqueue"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/convo"
)

// slow is a messenger whose calls take their time, and which notes when two of them are under way for the same card.
type slow struct {
	deliverytest.Recorder
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
	workqueue.Sleep(context.Background(), s.takes)
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
	t.Parallel()
	out := &slow{takes: 1500 * time.Millisecond} // the outbox looks every second
	l := newBridgeRig(t, out)
	l.start()
	l.say("om_1", "hello")
	l.until("the answer", out.ended.Load)
	l.sent()
	if out.twice.Load() || out.after.Load() {
		t.Errorf("two drew on one card at the same time: %v; drawn after the last value: %v", out.twice.Load(),
			out.after.Load())
	}
}

// An answer that could not be shown is not shown below the next one, even if it waits for its next attempt.
func TestAnAnswerIsNotShownBelowTheNext(t *testing.T) {
	t.Parallel()
	out := &deliverytest.Recorder{Fail: errors.New("the platform is away")}
	l := newBridgeRig(t, out)
	l.start()
	l.say("om_1", "first")
	l.ended(convo.Done, 1)
	l.until("an attempt that failed", func() bool { return l.count(`SELECT COUNT(*) FROM outbox WHERE attempts > 0`) == 1 })
	l.sql(`UPDATE outbox SET next_at = next_at + 3600000`)
	out.Mu.Lock()
	out.Fail, out.Posted = nil, nil
	out.Mu.Unlock()
	l.say("om_2", "second")
	l.settled(2)
	l.stop()
	if len(out.Posted) != 2 || out.Posted[0].Body != "echo: first" {
		t.Errorf("posted: %+v", out.Posted)
	}
}

// If one of several questions is recalled, the others are still answered.
func TestAnAnswerSurvivesAQuestionThatWasTakenBack(t *testing.T) {
	t.Parallel()
	out := &takenBack{}
	l := newBridgeRig(t, out)
	l.say("om_1", "hello")
	l.say("om_gone", "oops")
	l.start()
	l.ended(convo.Done, 1)
	l.sent()
	l.stop()
	if len(out.Closed) != 1 || out.Closed[0].Body != "echo: oops" {
		t.Errorf("shown %+v", out.Closed)
	}
}

// takenBack is a platform on which a message has been taken back.
type takenBack struct{ deliverytest.Recorder }

func (b *takenBack) Post(ctx context.Context, to chat.Ref, card chat.Card, idem string) (string, error) {
	if to.ID == "om_gone" {
		return "", chat.ErrGone
	}
	return b.Recorder.Post(ctx, to, card, idem)
}

// An interrupted turn and the one that continues it reply to the same message, each with its own card.
func TestTheCardOfTheTurnThatGoesOnIsNotThatOfTheOther(t *testing.T) {
	t.Parallel()
	out := &deliverytest.Recorder{Found: []chat.Sent{{ID: "om_old", Card: "om_old/card"}}}
	l := newBridgeRig(t, out)
	first := l.cutOff("om_1")
	l.must(l.store.Outbox().SetCard(t.Context(), db.Post{Key: room, Turn: first}, "om_old/card"))
	_, err := l.bridge.HandlePress(t.Context(), pressed("ev_1", turncard.DoContinue, first))
	l.must(err)
	l.sql(`UPDATE turns SET created_at = created_at - 7200000, attempts = 1`)
	l.start()
	l.until("the answer", func() bool {
		return l.count(`SELECT COUNT(*) FROM turns WHERE state = 'done' AND card_id = 'card'`) == 1
	})
}
