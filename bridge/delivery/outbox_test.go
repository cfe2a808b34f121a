package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"magpie/bridge/delivery/deliverytest"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

// A text that was sent just before a crash has no failed attempt. The platform forgets its idempotency key after an
// hour.
func TestATextThatMayHaveBeenSentLongAgoIsLookedFor(t *testing.T) {
	rec := &deliverytest.Recorder{Found: []chat.Sent{{ID: "om_there"}}}
	o := newRig(t, rec).outbox
	id, err := o.send(t.Context(), chat.Ref{Key: room, ID: "om_1"},
		db.Post{Key: room, Text: "words", Created: time.Now().Add(-2 * keyLifetime)})
	if err != nil || id != "om_there" || len(rec.Said) != 0 {
		t.Errorf("sent %q again: %s, %v", rec.Said, id, err)
	}
}

// At the end of the program no post is dropped, however old it is.
func TestNoPostIsDroppedAtShutdown(t *testing.T) {
	r := newRig(t, &deliverytest.Recorder{Fail: context.Canceled})
	turn := r.cutOff("om_1")
	p := r.next()
	p.Created, p.Attempts = time.Now().Add(-2*giveUp), minTries
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.outbox.deliver(ctx, p)
	if n := r.store.Count(fmt.Sprintf(`SELECT COUNT(*) FROM outbox WHERE turn_id = %d`, turn)); n != 1 {
		t.Error("the end of the turn will never be shown")
	}
}

// After days without the program, old posts are retried for a while like others.
func TestOldPostsAreRetriedForAWhile(t *testing.T) {
	r := newRig(t, &deliverytest.Recorder{Fail: errors.New("the platform is away")})
	r.cutOff("om_1")
	for _, tc := range []struct{ tries, left int }{{0, 1}, {minTries, 0}} {
		p := r.next()
		p.Created, p.Attempts = time.Now().Add(-2*giveUp), tc.tries
		r.outbox.deliver(t.Context(), p)
		if n := r.unsent(); n != tc.left {
			t.Errorf("after %d attempts %d remain", tc.tries, n)
		}
	}
}

// censor only accepts cards with the bridge's own text.
type censor struct{ deliverytest.Recorder }

func (c *censor) Close(ctx context.Context, id string, card chat.Card) error {
	if card.Body == "half" {
		return chat.ErrRefused
	}
	return c.Recorder.Close(ctx, id, card)
}

func (c *censor) Post(ctx context.Context, to chat.Ref, card chat.Card, idem string) (string, error) {
	if to.ID == "om_false" {
		return "", chat.ErrRefused
	}
	return c.Recorder.Post(ctx, to, card, idem)
}

// A post that the platform forbids does not block the next ones.
func TestARefusedPostDoesNotBlockOthers(t *testing.T) {
	out := &censor{}
	r := newRig(t, out)
	for _, known := range []bool{true, false} {
		turn := r.cutOff(fmt.Sprintf("om_%v", known))
		if known {
			r.must(r.store.Outbox().SetCard(t.Context(), db.Post{Key: room, Turn: turn}, "card"))
		}
	}
	r.must(r.outbox.Enqueue(t.Context(), db.Post{Key: room, Idem: "next", ReplyTo: "om_2", Text: "next"}))
	r.flush()
	if n := r.unsent(); n != 0 {
		t.Errorf("%d wait", n)
	}
	if len(out.Closed) != 1 || out.Closed[0].Body != i18n.Withheld.EN {
		t.Errorf("cards %+v", out.Closed)
	}
	if len(out.Said) != 2 || out.Said[0] != i18n.Withheld.EN || out.Said[1] != "next" {
		t.Errorf("said %q", out.Said)
	}
}

// If the bot has no permission to list its messages, a post is sent eventually.
func TestAPostThatCannotBeFoundIsSentInTheEnd(t *testing.T) {
	out := &blind{}
	r := newRig(t, out)
	o := r.outbox
	p := db.Post{Key: room, Text: "words", Created: time.Now().Add(-2 * keyLifetime)}
	if _, err := o.send(t.Context(), chat.Ref{Key: room, ID: "om_1"}, p); err == nil || len(out.Said) != 0 {
		t.Errorf("sent at once: %q, %v", out.Said, err)
	}
	p.Attempts = maxSearches
	if _, err := o.send(t.Context(), chat.Ref{Key: room, ID: "om_1"}, p); err != nil || len(out.Said) != 1 {
		t.Errorf("said %q, %v", out.Said, err)
	}
	out.gone = true
	if _, err := o.send(t.Context(), chat.Ref{Key: room, ID: "om_1"}, p); !errors.Is(err, chat.ErrGone) {
		t.Errorf("after the question was recalled: %v", err)
	}
}

// blind is a platform on which sent messages cannot be listed.
type blind struct {
	deliverytest.Recorder
	gone bool
}

func (b *blind) Find(context.Context, chat.Ref) ([]chat.Sent, error) {
	if b.gone {
		return nil, chat.ErrGone
	}
	return nil, errors.New("no permission to list messages")
}

// A reply without a turn may be a card. It is posted once and is in the History under its message ID.
func TestACardWithoutATurnIsPosted(t *testing.T) {
	rec := &deliverytest.Recorder{}
	r := newRig(t, rec)
	in := chat.Incoming{Key: room, ID: "om_0", Text: "/status", Actor: chat.Actor{ID: "ou_1"},
		Time: time.Now(), ToBot: true}
	_, err := r.store.Messages().Accept(t.Context(), db.Inbound{Incoming: in, Class: chat.Command, Reply: "fine"})
	r.must(err)
	card := &chat.Card{Body: "a card", Buttons: []chat.Button{{Label: "x", Action: chat.Action{Do: "x"}}}}
	r.must(r.outbox.Enqueue(t.Context(), db.Post{Key: room, Idem: "a card", ReplyTo: "om_0", Card: card}))
	r.flush()
	known := r.store.Count(`SELECT COUNT(*) FROM messages WHERE message_id = 'card' AND content = 'a card'`)
	if rec.Posts != 1 || len(rec.Closed) != 0 || known != 1 || r.unsent() != 0 {
		t.Errorf("%d posts, closed %d, %d in the History, %d wait", rec.Posts, len(rec.Closed), known, r.unsent())
	}
}

// Even the outcome of an approval may be forbidden text: its card loses its buttons anyway.
func TestASettledApprovalThatCannotBeShownHasNoButtons(t *testing.T) {
	out := &censor{}
	r := newRig(t, out)
	card := chat.Card{Body: "half", Buttons: []chat.Button{{Label: "x", Action: chat.Action{Do: "x"}}}}
	p := db.Post{Key: room, Approval: "another", CardID: "card", Card: &card}
	if _, err := r.outbox.present(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if len(out.Closed) != 1 || out.Closed[0].Body != i18n.Withheld.EN || len(out.Closed[0].Buttons) != 0 {
		t.Errorf("shown %+v", out.Closed)
	}
}

// The card of an approval that was posted just before the end of the program is found again, however late. It is not
// confused with cards of its turn or of other approvals, nor with earlier messages of the turn.
func TestTheCardOfAnApprovalIsFoundAgain(t *testing.T) {
	out := &deliverytest.Recorder{}
	r := newRig(t, out)
	r.startTurn(room, "om_1")
	ask := func(id string) db.Post {
		now := time.UnixMilli(1000)
		a := db.Approval{
			ID: id, Key: room, Turn: 1, Tool: "Bash", Input: json.RawMessage(`{"command": "make"}`), Project: "/p",
			Created: now, Expires: now.Add(time.Hour), Settlement: db.Settlement{State: convo.Waiting},
		}
		r.must(r.store.Access().Ask(t.Context(), a, chat.Card{Body: "make"}, "om_1"))
		r.store.SQL(`UPDATE approvals SET created_at = created_at - 7200000`)
		return r.next()
	}
	first := ask("a1")
	at := first.Begun
	r.must(r.store.Outbox().SetCard(t.Context(), db.Post{Key: room, Turn: 1}, "om_turn/card"))
	out.Found = []chat.Sent{
		{ID: "om_turn", Card: "om_turn/card", Time: at},
		{ID: "om_page", Card: "om_page/card", Time: at.Add(-2 * clockSkew)}, {ID: "om_ask", Card: "om_ask/card", Time: at},
	}
	if id, err := r.outbox.findOrPostCard(t.Context(), chat.Ref{Key: room, ID: "om_1"}, first); err != nil ||
		id != "om_ask/card" || out.Posts != 0 {
		t.Errorf("updated %s, %d posts, %v", id, out.Posts, err)
	}
	r.must(r.store.Outbox().MarkDelivered(t.Context(), first, ""))
	second := ask("a2")
	id, err := r.outbox.findOrPostCard(t.Context(), chat.Ref{Key: room, ID: "om_1"}, second)
	if err != nil || id != "card" || out.Posts != 1 {
		t.Errorf("another one updated %s, %d posts, %v", id, out.Posts, err)
	}
}

// refusal is how the platform says that the app may not do something.
type refusal struct{}

func (refusal) Error() string           { return "send: code 7: no permission (add it) [log id 1]" }
func (refusal) Is(target error) bool    { return target == chat.ErrForbidden }
func (refusal) Obstacle() chat.Obstacle { return chat.NoPermission }
func (refusal) Reason() error           { return errors.New("no permission (code 7)") }

// Posts without permission are retried, since an operator can grant it, but less often than after network errors.
func TestPostsWithoutPermissionAreRetriedSlowly(t *testing.T) {
	for _, tc := range []struct {
		fail     error
		from, to time.Duration
		stored   db.Failure
	}{
		{errors.New("the platform is away"), 0, 2 * minRetryWait, db.Failure{Why: "the platform is away"}},
		{fmt.Errorf("send: %w", refusal{}), maxRetryWait * 8 / 10, maxRetryWait * 12 / 10,
			db.Failure{Obstacle: chat.NoPermission, Why: "no permission (code 7)"}},
	} {
		r := newRig(t, &deliverytest.Recorder{Fail: tc.fail})
		r.cutOff("om_1")
		p, began := r.next(), time.Now()
		r.outbox.deliver(t.Context(), p)
		if got, err := r.store.Outbox().Undelivered(t.Context()); err != nil || len(got) != 1 || got[0].Failure != tc.stored {
			t.Errorf("%v: stored as %+v, %v", tc.fail, got, err)
		}
		if wait := r.next().Due.Sub(began); wait < tc.from || wait > tc.to+time.Since(began) {
			t.Errorf("%v: retried after %v", tc.fail, wait)
		}
		p = r.next()
		p.Created, p.Attempts = time.Now().Add(-giveUp-time.Hour), minTries
		r.outbox.deliver(t.Context(), p)
		if n := r.unsent(); n != 0 {
			t.Errorf("%v: %d wait after three days", tc.fail, n)
		}
	}
}

// stopper ends the program while buttons are removed.
type stopper struct {
	deliverytest.Recorder
	stop func()
}

func (s *stopper) RemoveButtons(ctx context.Context, _ string) error {
	s.stop()
	<-ctx.Done()
	return ctx.Err()
}

// The buttons that count below the newest card only are removed once, from the card that was the newest, also when the
// program ends meanwhile. What was drawn without them since has none.
func TestOldButtonsAreRemovedOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out := &stopper{stop: cancel}
	r := newRig(t, out)
	card := chat.Card{Body: "answer", Buttons: []chat.Button{{Label: "New", Newest: true}}}
	show := func(id string) (turn db.Turn) {
		turn = r.startTurn(room, "om_"+id)
		r.must(r.store.Outbox().SetCard(t.Context(), db.Post{Key: turn.Key, Turn: turn.ID}, "card_"+id))
		r.flush()
		r.must(r.store.Turns().Finish(t.Context(), db.TurnResult{Turn: turn, State: convo.Done, Answer: "answer", Card: card}))
		r.flush()
		return turn
	}
	show("1")
	r.startTurn(room, "om_2")
	r.must(r.store.Outbox().SetCard(t.Context(), db.Post{Key: room, Turn: 2}, "card_2"))
	r.outbox.Wake(room)
	stopped := make(chan struct{})
	close(stopped)
	r.outbox.Run(ctx, stopped)
	if len(out.Removed) != 0 || ctx.Err() == nil {
		t.Fatalf("removed %v, the program has ended: %v", out.Removed, ctx.Err())
	}
	rec := &deliverytest.Recorder{}
	r.remake(rec)
	r.outbox.Wake(room)
	r.flush()
	if !slices.Equal(rec.Removed, []string{"card_1"}) {
		t.Fatalf("removed %v", rec.Removed)
	}
	r.must(r.store.Turns().Finish(t.Context(), db.TurnResult{
		Turn: db.Turn{ID: 2, Key: room}, State: convo.Done, Answer: "answer", Card: card,
	}))
	r.flush()
	bare := chat.Card{Body: "taken back"}
	r.must(r.outbox.Enqueue(t.Context(), db.Post{Key: room, Turn: 2, Idem: "again", ReplyTo: "om_2", Card: &bare}))
	r.flush()
	show("3")
	show("4")
	if !slices.Equal(rec.Removed, []string{"card_1", "card_3"}) {
		t.Errorf("removed %v", rec.Removed)
	}
}

// Answers stand in the order of their questions: one that could not be shown is tried again before a later turn shows its
// own, once.
func TestAnAnswerThatWaitsIsShownBeforeTheNext(t *testing.T) {
	rec := &deliverytest.Recorder{Fail: errors.New("the platform is away")}
	r := newRig(t, rec)
	first := r.cutOff("om_1")
	r.flush()
	r.must(r.outbox.delay(t.Context(), r.next(), time.Now().Add(time.Hour), rec.Fail))
	r.start()
	posts := func() int { _, _, n := rec.SoFar(); return n }
	before := posts()
	r.outbox.Settle(t.Context(), room, first)
	if n := posts(); n != before {
		t.Errorf("%d attempts for the turn itself", n-before)
	}
	r.outbox.Settle(t.Context(), room, first+1)
	if n := posts(); n != before+1 || r.unsent() != 1 {
		t.Errorf("%d attempts, %d wait", n-before, r.unsent())
	}
	rec.Mu.Lock()
	rec.Fail = nil
	rec.Mu.Unlock()
	r.outbox.Settle(t.Context(), room, first+1)
	if n := posts(); n != before+2 || r.unsent() != 0 {
		t.Errorf("%d attempts, %d wait", n-before, r.unsent())
	}
}
