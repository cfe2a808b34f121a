package bridge

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"magpie/bridge/i18n"
	"magpie/bridge/turncard"
	"magpie/bridge/workqueue"
	"magpie/db"
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

// A text that was sent just before a crash has no failed attempt behind it. The platform forgets its key after an hour.
func TestATextThatMayHaveBeenSentLongAgoIsLookedFor(t *testing.T) {
	rec := &recorder{found: []chat.Sent{{ID: "om_there"}}}
	o := newLine(t, rec).bridge.outbox
	id, err := o.say(t.Context(), chat.Ref{Key: room, ID: "om_1"}, db.Post{Key: room, Text: "words", Created: time.Now().Add(-2 * keysLast)})
	if err != nil || id != "om_there" || len(rec.said) != 0 {
		t.Errorf("sent %q again: %s, %v", rec.said, id, err)
	}
}

// The end of the program is no reason to give anything up, however old it is.
func TestNothingIsGivenUpAtTheEndOfTheProgram(t *testing.T) {
	l := newLine(t, &recorder{fail: context.Canceled})
	turn := l.cutOff("om_1")
	p, err := l.bridge.db.Outbox().Next(t.Context(), room)
	l.must(err)
	p.Created, p.Attempts = time.Now().Add(-2*giveUp), leastTries
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l.bridge.outbox.deliver(ctx, p)
	if n := l.count(fmt.Sprintf(`SELECT COUNT(*) FROM outbox WHERE turn_id = %d`, turn)); n != 1 {
		t.Error("the end of the turn will never be shown")
	}
}

// A program that was off for days tries for a while like any other.
func TestWhatIsOldIsTriedForAWhile(t *testing.T) {
	l := newLine(t, &recorder{fail: errors.New("the platform is away")})
	l.cutOff("om_1")
	for _, tc := range []struct{ tries, left int }{{0, 1}, {leastTries, 0}} {
		p, err := l.bridge.db.Outbox().Next(t.Context(), room)
		l.must(err)
		p.Created, p.Attempts = time.Now().Add(-2*giveUp), tc.tries
		l.bridge.outbox.deliver(t.Context(), p)
		if n := l.count(`SELECT COUNT(*) FROM outbox`); n != tc.left {
			t.Errorf("after %d tries %d are left", tc.tries, n)
		}
	}
}

// censor takes no card but one of its own words.
type censor struct{ recorder }

func (c *censor) Close(ctx context.Context, id string, card chat.Card) error {
	if card.Body == "half" {
		return chat.ErrRefused
	}
	return c.recorder.Close(ctx, id, card)
}

func (c *censor) Post(ctx context.Context, to chat.Ref, card chat.Card, idem string) (string, error) {
	if to.ID == "om_false" {
		return "", chat.ErrRefused
	}
	return c.recorder.Post(ctx, to, card, idem)
}

// What the platform does not allow to be said does not hold up what comes after it.
func TestARefusedAnswerMakesWay(t *testing.T) {
	out := &censor{}
	l := newLine(t, out)
	for _, known := range []bool{true, false} {
		turn := l.cutOff(fmt.Sprintf("om_%v", known))
		if known {
			l.must(l.bridge.db.Turns().SetCard(t.Context(), turn, "card"))
		}
	}
	l.say("om_2", "/title")
	l.start()
	l.until("the last", func() bool { return l.count(`SELECT COUNT(*) FROM outbox`) == 0 })
	l.stop()
	if len(out.closed) != 1 || out.closed[0].Body != i18n.Withheld.EN {
		t.Errorf("cards %+v", out.closed)
	}
	if len(out.said) != 2 || out.said[0] != i18n.Withheld.EN || out.said[1] != i18n.TitleNone.EN {
		t.Errorf("said %q", out.said)
	}
}

// Who takes back one of several questions still gets the answer to the others.
func TestAnAnswerSurvivesAQuestionThatWasTakenBack(t *testing.T) {
	out := &takenBack{}
	l := newLine(t, out)
	l.say("om_1", "hello")
	l.say("om_gone", "oops")
	l.start()
	l.until("the answer", func() bool { return l.count(`SELECT COUNT(*) FROM turns WHERE state = 'done'`) == 1 })
	l.until("an empty outbox", func() bool { return l.count(`SELECT COUNT(*) FROM outbox`) == 0 })
	l.stop()
	if len(out.closed) != 1 || out.closed[0].Body != "echo: oops" {
		t.Errorf("shown %+v", out.closed)
	}
}

// takenBack is a platform on which a message has been taken back.
type takenBack struct{ recorder }

func (b *takenBack) Post(ctx context.Context, to chat.Ref, card chat.Card, idem string) (string, error) {
	if to.ID == "om_gone" {
		return "", chat.ErrGone
	}
	return b.recorder.Post(ctx, to, card, idem)
}

// An interrupted turn and the one that goes on with it answer the same message. Each has a card of its own.
func TestTheCardOfTheTurnThatGoesOnIsNotThatOfTheOther(t *testing.T) {
	out := &recorder{found: []chat.Sent{{ID: "om_old", Card: "om_old/card"}}}
	l := newLine(t, out)
	first := l.cutOff("om_1")
	l.must(l.bridge.db.Turns().SetCard(t.Context(), first, "om_old/card"))
	_, err := l.bridge.Press(t.Context(), pressed("ev_1", turncard.DoContinue, first))
	l.must(err)
	l.sql(`UPDATE turns SET created_at = created_at - 7200000, attempts = 1`)
	l.start()
	l.until("the answer", func() bool {
		return l.count(`SELECT COUNT(*) FROM turns WHERE state = 'done' AND card_id = 'card'`) == 1
	})
}

// Where the bot may not look for what it has sent, that is no reason never to send anything.
func TestWhatCannotBeLookedForIsSentInTheEnd(t *testing.T) {
	out := &blind{}
	l := newLine(t, out)
	o := l.bridge.outbox
	p := db.Post{Key: room, Text: "words", Created: time.Now().Add(-2 * keysLast)}
	if _, err := o.say(t.Context(), chat.Ref{Key: room, ID: "om_1"}, p); err == nil || len(out.said) != 0 {
		t.Errorf("sent at once: %q, %v", out.said, err)
	}
	p.Attempts = mostSearches
	if _, err := o.say(t.Context(), chat.Ref{Key: room, ID: "om_1"}, p); err != nil || len(out.said) != 1 {
		t.Errorf("said %q, %v", out.said, err)
	}
	out.gone = true
	if _, err := o.say(t.Context(), chat.Ref{Key: room, ID: "om_1"}, p); !errors.Is(err, chat.ErrGone) {
		t.Errorf("after the question was taken back: %v", err)
	}
}

// blind is a platform that does not tell what was sent.
type blind struct {
	recorder
	gone bool
}

func (b *blind) Find(context.Context, chat.Ref) ([]chat.Sent, error) {
	if b.gone {
		return nil, chat.ErrGone
	}
	return nil, errors.New("no permission to list messages")
}

// What is said without a turn may be a card. It is posted once and joins the History under the name of its message.
func TestACardWithoutATurnIsPosted(t *testing.T) {
	rec := &recorder{}
	l := newLine(t, rec)
	l.say("om_0", "/status")
	card := &chat.Card{Body: "a card", Buttons: []chat.Button{{Label: "x", Action: chat.Action{Do: turncard.DoStop}}}}
	l.must(l.bridge.db.Outbox().Add(t.Context(), db.Post{Key: room, Idem: "a card", ReplyTo: "om_0", Card: card}))
	l.start()
	l.until("an empty outbox", func() bool { return l.count(`SELECT COUNT(*) FROM outbox`) == 0 })
	if _, closed, posts := rec.far(); posts != 1 || len(closed) != 0 || l.count(`SELECT COUNT(*) FROM messages WHERE message_id = 'card' AND content = 'a card'`) != 1 {
		t.Errorf("%d posts, closed %d", posts, len(closed))
	}
}
