package db_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/convo"
)

// next is the oldest delivery of the chat.
func next(t testing.TB, d *db.DB) db.Post {
	t.Helper()
	p, err := d.Outbox().Next(t.Context(), oc)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func delivered(t testing.TB, d *db.DB, p db.Post, id string) {
	t.Helper()
	if err := d.Outbox().MarkDelivered(t.Context(), p, id); err != nil {
		t.Fatal(err)
	}
}

func empty(t testing.TB, d *db.DB) {
	t.Helper()
	if p, err := d.Outbox().Next(t.Context(), oc); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("still to be delivered: %+v, %v", p, err)
	}
}

// interruptedTurn leaves an interrupted turn with half an answer.
func interruptedTurn(t testing.TB, d *db.DB) db.Turn {
	t.Helper()
	accept(t, d, say("om_1", "question"))
	turn := claim(t, d, "s").Turn
	finish(t, d, db.TurnResult{Turn: turn, State: convo.Interrupted, Answer: "half", Card: chat.Card{Body: "half"}})
	delivered(t, d, next(t, d), "")
	return turn
}

func TestTheEndOfATurnIsQueuedForDelivery(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_1", "q1"))
	turn := claim(t, d, "s").Turn
	if turn.ReplyTo != "om_1" || turn.Prompt != "p-s" || turn.Attempts != 1 {
		t.Errorf("turn %+v", turn)
	}
	if err := d.Outbox().SetCard(t.Context(), db.Post{Key: turn.Key, Turn: turn.ID}, "card_1"); err != nil {
		t.Fatal(err)
	}
	card := chat.Card{Body: "a1", Buttons: []chat.Button{{Label: "x", Action: chat.Action{Do: "y", Turn: 1}}}}
	finish(t, d, db.TurnResult{Turn: turn, Answer: "a1", Card: card})
	p := next(t, d)
	if p.Turn != turn.ID || p.CardID != "card_1" || p.ReplyTo != "om_1" || p.Card.Body != "a1" ||
		p.Card.Buttons[0].Action.Do != "y" || p.Begun.IsZero() {
		t.Errorf("post %+v", p)
	}
	keys, err := d.Outbox().Due(t.Context(), 10)
	if err != nil || len(keys) != 1 || keys[0] != oc {
		t.Errorf("due %v, %v", keys, err)
	}
	if err := d.Outbox().Delay(t.Context(), p, time.Now().Add(time.Hour), db.Failure{}, false); err != nil {
		t.Fatal(err)
	}
	if p = next(t, d); p.Attempts != 1 || time.Until(p.Due) < 59*time.Minute {
		t.Errorf("put off: %+v", p)
	}
	if keys, err := d.Outbox().Due(t.Context(), 10); err != nil || len(keys) != 0 {
		t.Errorf("due %v, %v", keys, err)
	}
	if b, err := d.Outbox().Backlog(t.Context()); err != nil || b.Posts != 1 || b.Turns != 0 || b.Oldest.IsZero() {
		t.Errorf("backlog %+v, %v", b, err)
	}
	delivered(t, d, p, "")
	empty(t, d)
}

func TestACommandAndItsReplyAreOne(t *testing.T) {
	d := fresh(t)
	e := say("om_1", "/help")
	e.Class, e.Reply = chat.Command, "help yourself"
	accept(t, d, e)
	accept(t, d, e)
	p := next(t, d)
	if p.Text != "help yourself" || p.ReplyTo != "om_1" || p.Card != nil {
		t.Errorf("post %+v", p)
	}
	delivered(t, d, p, "om_reply")
	empty(t, d)
	accept(t, d, e)
	empty(t, d)
}

func TestAnInterruptedTurnGoesOnOnce(t *testing.T) {
	d := fresh(t)
	turn := interruptedTurn(t, d)
	if got, err := d.Turns().Interrupted(t.Context(), oc, 0); err != nil || got.ID != turn.ID {
		t.Fatalf("interrupted %+v, %v", got, err)
	}
	w := db.Decision{Key: oc, Turn: turn.ID, GoOn: true,
		ContinueMessage: chat.Message{Actor: chat.Actor{ID: "ou_1"}, Text: "继续", Time: time.UnixMilli(2000)},
		Over:            chat.Card{Body: "over"}}
	if err := d.Turns().Decide(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if err := d.Turns().Decide(t.Context(), w); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("pressed twice: %v", err)
	}
	if p := next(t, d); p.Turn != turn.ID || p.Card.Body != "over" {
		t.Errorf("post %+v", p)
	}
	c := claim(t, d, "s2")
	if c.Turn.Continues != turn.ID || c.Turn.ReplyTo != "om_1" || texts(c.Asked) != "u:继续" {
		t.Errorf("claim %+v", c)
	}
	if got := history(t, d, 0, c.Turn.ID); got != "a:half u:question" {
		t.Errorf("history %q", got)
	}
	if _, err := d.Turns().Interrupted(t.Context(), oc, 0); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("interrupted: %v", err)
	}
}

func TestAnInterruptedTurnGoesOnByWord(t *testing.T) {
	d := fresh(t)
	turn := interruptedTurn(t, d)
	e := say("om_2", "继续")
	e.Continues, e.Over = turn.ID, chat.Card{Body: "over"}
	accept(t, d, e)
	accept(t, d, e)
	c := claim(t, d, "s2")
	if c.Turn.Continues != turn.ID || c.Turn.ReplyTo != "om_2" || next(t, d).Card.Body != "over" {
		t.Errorf("claim %+v", c)
	}
	if err := d.Turns().Decide(t.Context(),
		db.Decision{Key: oc, Turn: turn.ID}); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("dropped afterwards: %v", err)
	}
}

func TestADecisionThatIsVoid(t *testing.T) {
	d := fresh(t)
	turn := interruptedTurn(t, d)
	for name, w := range map[string]db.Decision{
		"another chat's turn": {Key: chat.FeishuChat("oc_2"), Turn: turn.ID, GoOn: true},
		"no such turn":        {Key: oc, Turn: 99, GoOn: true},
	} {
		if err := d.Turns().Decide(t.Context(), w); !errors.Is(err, db.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := d.Turns().Decide(t.Context(), db.Decision{Key: oc, Turn: turn.ID,
		Over: chat.Card{Body: "dropped"}}); err != nil {
		t.Fatal(err)
	}
	if p := next(t, d); p.Card.Body != "dropped" {
		t.Errorf("post %+v", p)
	}
	if _, err := d.Turns().Claim(t.Context(), oc, startIn("x")); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("a dropped turn runs: %v", err)
	}
	second := d
	accept(t, second, say("om_2", "q2"))
	again := claim(t, second, "s2").Turn
	finish(t, second, db.TurnResult{Turn: again, State: convo.Interrupted, Answer: "half"})
	restart := say("om_3", "/new")
	restart.Class, restart.Effects = chat.Command, []db.Effect{db.StartConversation{}}
	accept(t, second, restart)
	if err := d.Turns().Decide(t.Context(),
		db.Decision{Key: oc, Turn: again.ID, GoOn: true}); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("continued a turn from before /new: %v", err)
	}
}

// lateQuestion is a question that is only answered on request.
func lateQuestion(id, text string) db.Inbound {
	e := say(id, text)
	e.Held = &chat.Card{Body: "late", Buttons: []chat.Button{{Action: chat.Action{Turn: chat.OwnTurn}}}}
	return e
}

func TestLateQuestionsWaitForARequest(t *testing.T) {
	for _, how := range []string{"button", "word"} {
		t.Run(how, func(t *testing.T) {
			d := fresh(t)
			first := accept(t, d, lateQuestion("om_1", "one"))
			if second := accept(t, d, lateQuestion("om_2", "two")); second.Turn != first.Turn {
				t.Errorf("two turns: %d and %d", first.Turn, second.Turn)
			}
			if p := next(t, d); p.Card.Body != "late" || p.Card.Buttons[0].Action.Turn != first.Turn ||
				p.ReplyTo != "om_1" {
				t.Errorf("post %+v", p)
			}
			if _, err := d.Turns().Claim(t.Context(), oc, startIn("x")); !errors.Is(err, db.ErrNotFound) {
				t.Fatalf("a late turn runs without a request: %v", err)
			}
			want := "u:one u:two"
			if how == "button" {
				if err := d.Turns().Decide(t.Context(),
					db.Decision{Key: oc, Turn: first.Turn, GoOn: true}); err != nil {
					t.Fatal(err)
				}
			} else {
				e := say("om_3", "go on")
				e.Continues, want = first.Turn, "u:one u:two u:go on"
				accept(t, d, e)
			}
			empty(t, d) // the notice must not replace the answer
			if c := claim(t, d, "s"); c.Turn.ID != first.Turn || texts(c.Asked) != want || c.Turn.Continues != 0 {
				t.Errorf("claim %+v asks %q", c.Turn, texts(c.Asked))
			}
		})
	}
}

// A turn that is requeued answers the same message as before: its card may exist already.
func TestARequeuedTurnAnswersTheSameMessage(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_1", "one"))
	turn := claim(t, d, "s").Turn
	_, err := d.Turns().Happens(t.Context(), oc, convo.Acts{Turn: turn.ID, Acted: true})
	if err := errors.Join(err, d.Turns().SetDraft(t.Context(), turn.ID, "so far")); err != nil {
		t.Fatal(err)
	}
	list, err := d.Turns().Running(t.Context())
	if err != nil || len(list) != 1 || list[0].Draft != "so far" || !list[0].Acted || list[0].Prompt != "p-s" {
		t.Errorf("running %+v, %v", list, err)
	}
	if err := d.Turns().Requeue(t.Context(), turn, db.Session{}); err != nil {
		t.Fatal(err)
	}
	accept(t, d, say("om_2", "two"))
	if c := claim(t, d, "s2"); c.Turn.ReplyTo != "om_1" || c.Turn.Attempts != 2 || texts(c.Asked) != "u:one u:two" {
		t.Errorf("claim %+v asks %q", c.Turn, texts(c.Asked))
	}
}

func TestAnEventCountsOnce(t *testing.T) {
	d, now := fresh(t), time.Now()
	d.At(t, now)
	w := db.Decision{Key: oc, Turn: interruptedTurn(t, d).ID, Event: "ev_1"}
	for i, want := range []error{nil, db.ErrRepeated, db.ErrRepeated} {
		if err := d.Turns().Decide(t.Context(), w); !errors.Is(err, want) {
			t.Errorf("time %d: %v", i, err)
		}
	}
	w.Event = "ev_2"
	if err := d.Turns().Decide(t.Context(), w); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("another: %v", err)
	}
	// The event is remembered for thirty days, and then deleted.
	w.Event = "ev_1"
	for _, after := range []time.Duration{30*24*time.Hour - time.Minute, 30*24*time.Hour + time.Minute} {
		d.At(t, now.Add(after))
		s, err := db.Sweep(t.Context(), d, db.Defaults())
		want := db.ErrRepeated
		if s.Events == 1 {
			want = db.ErrNotFound
		}
		if err != nil || (s.Events == 1) != (after > 30*24*time.Hour) {
			t.Errorf("after %v: %+v %v", after, s, err)
		}
		if err := d.Turns().Decide(t.Context(), w); !errors.Is(err, want) {
			t.Errorf("after %v: %v, want %v", after, err, want)
		}
	}
}

// A chat whose oldest delivery was postponed has nothing due, whatever waits behind it.
func TestPostponedChatsAreNotDue(t *testing.T) {
	d := fresh(t)
	other := chat.FeishuChat("oc_2")
	for _, key := range []chat.Key{oc, other} {
		for _, text := range []string{"one", "two"} {
			e := say("om_"+key.ID+text, "/help")
			e.Key, e.Class, e.Reply = key, chat.Command, text
			accept(t, d, e)
		}
	}
	if err := d.Outbox().Delay(t.Context(), next(t, d), time.Now().Add(time.Hour), db.Failure{}, false); err != nil {
		t.Fatal(err)
	}
	if keys, err := d.Outbox().Due(t.Context(), 1); err != nil || len(keys) != 1 || keys[0] != other {
		t.Errorf("due %v, %v", keys, err)
	}
}

// A pressed button joins the queued turn and does not change which message that turn answers.
func TestAPressDoesNotChangeWhatTheNextTurnAnswers(t *testing.T) {
	d := fresh(t)
	turn := interruptedTurn(t, d)
	accept(t, d, say("om_2", "something else"))
	w := db.Decision{Key: oc, Turn: turn.ID, GoOn: true,
		ContinueMessage: chat.Message{Actor: chat.Actor{ID: "ou_1"}, Text: "继续", Time: time.UnixMilli(2000)}}
	if err := d.Turns().Decide(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if c := claim(t, d, "s2"); c.Turn.ReplyTo != "om_2" || c.Turn.Continues != turn.ID ||
		texts(c.Asked) != "u:something else u:继续" {
		t.Errorf("claim %+v asks %q", c.Turn, texts(c.Asked))
	}
}

// The notice about a late question also covers those that arrive with it. A much later one has its own notice.
func TestALateQuestionIsNotHiddenBehindAnOldOne(t *testing.T) {
	d := fresh(t)
	first := accept(t, d, lateQuestion("om_1", "one"))
	d.At(t, time.Now().Add(time.Hour))
	second := accept(t, d, lateQuestion("om_2", "two"))
	if second.Turn == first.Turn {
		t.Fatal("the second question has no notice")
	}
	delivered(t, d, next(t, d), "")
	if p := next(t, d); p.ReplyTo != "om_2" || p.Turn != second.Turn {
		t.Errorf("post %+v", p)
	}
}

// When the message that a turn would answer is recalled, the turn answers another one of its messages.
func TestAnAnswerMovesToAnotherQuestion(t *testing.T) {
	d := fresh(t)
	for _, id := range []string{"om_1", "om_2", "om_3"} {
		accept(t, d, say(id, id))
		if id == "om_1" {
			accept(t, d, pressedAt("om_card", "again")) // a press cannot be answered
		}
	}
	turn := claim(t, d, "s").Turn
	finish(t, d, db.TurnResult{Turn: turn, Answer: "a", Card: chat.Card{Body: "a"}})
	for _, want := range []string{"om_3", "om_2", "om_1"} {
		p := next(t, d)
		if p.ReplyTo != want || p.Card.Body != "a" {
			t.Errorf("post %+v, want it to answer %s", p, want)
		}
		if err := d.Outbox().Readdress(t.Context(), p); want != "om_1" && err != nil || want == "om_1" &&
			!errors.Is(err, db.ErrNotFound) {
			t.Errorf("from %s: %v", want, err)
		}
	}
}

func TestTheCardsOfWhatATurnGoesOnWith(t *testing.T) {
	d := fresh(t)
	turn := interruptedTurn(t, d)
	for _, card := range []string{"card_1", "card_2", "card_3"} {
		if err := errors.Join(d.Outbox().SetCard(t.Context(), db.Post{Key: turn.Key, Turn: turn.ID}, card),
			d.Turns().Decide(t.Context(), db.Decision{Key: oc, Turn: turn.ID, GoOn: true})); err != nil {
			t.Fatal(err)
		}
		turn = claim(t, d, "s").Turn
		finish(t, d, db.TurnResult{Turn: turn, State: convo.Interrupted})
	}
	if got, err := d.Outbox().OtherCards(t.Context(), db.Post{Key: oc, Turn: turn.ID}); err != nil ||
		!slices.Equal(slices.Sorted(slices.Values(got)), []string{"card_1", "card_2", "card_3"}) {
		t.Errorf("cards %q, %v", got, err)
	}
}

// A late question is answered after later ones. Those are in the session anyway.
func TestALateTurnDoesNotMakeTheSessionForget(t *testing.T) {
	d := fresh(t)
	first := accept(t, d, lateQuestion("om_1", "one"))
	accept(t, d, say("om_2", "two"))
	second := claim(t, d, "s").Turn
	finish(t, d, db.TurnResult{Turn: second, Answer: "a2", Session: db.Session{ID: "s"}})
	if err := d.Turns().Decide(t.Context(),
		db.Decision{Key: oc, Turn: first.Turn, GoOn: true}); err != nil {
		t.Fatal(err)
	}
	finish(t, d, db.TurnResult{Turn: claim(t, d, "x").Turn, Answer: "a1", Session: db.Session{ID: "s"}})
	if c, err := d.Chats().Get(t.Context(), oc); err != nil || c.Session.Turn != second.ID {
		t.Errorf("session %+v, %v", c.Session, err)
	}
}

// A question that is answered late knows the later answers, but not the messages that still wait.
func TestALateQuestionKnowsWhatWasAnsweredMeanwhile(t *testing.T) {
	d := fresh(t)
	held := &chat.Card{Body: "late"}
	late := say("om_1", "late")
	late.Held = held
	turn := accept(t, d, late).Turn
	accept(t, d, say("om_2", "q2"))
	finish(t, d, db.TurnResult{Turn: claim(t, d, "s2").Turn, Answer: "a2"})
	accept(t, d, say("om_3", "q3"))
	finish(t, d, db.TurnResult{Turn: claim(t, d, "s3").Turn, State: convo.Interrupted, Answer: "half"})
	d.At(t, time.Now().Add(time.Hour))
	later := say("om_4", "late, too")
	later.Held = held
	accept(t, d, later)
	if err := d.Turns().Decide(t.Context(),
		db.Decision{Key: oc, Turn: turn, Event: "e1", GoOn: true}); err != nil {
		t.Fatal(err)
	}
	c := claim(t, d, "s1")
	if c.Turn.ID != turn {
		t.Fatalf("turn %d is asked, want %d", c.Turn.ID, turn)
	}
	accept(t, d, say("om_5", "q5"))
	var got []chat.Message
	for m, err := range d.Messages().ForTurn(t.Context(), oc, 0, 0, turn) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, m)
	}
	slices.Reverse(got)
	if s := texts(got); s != "u:q2 a:a2 u:q3 a:half" {
		t.Errorf("told %q", s)
	}
}

// A turn cannot become interrupted once its conversation has ended, not even just before that is stored: its card would
// offer to continue.
func TestNoTurnIsInterruptedInAnEndedConversation(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_1", "question"))
	turn := claim(t, d, "s").Turn
	e := say("om_2", "/new")
	e.Class, e.Effects = chat.Command, []db.Effect{db.StartConversation{}}
	accept(t, d, e)
	end := db.TurnResult{Turn: turn, State: convo.Interrupted, Answer: "half", Card: chat.Card{Body: "half"}}
	if err := d.Turns().Finish(t.Context(), end); err == nil || !strings.Contains(err.Error(), "has ended meanwhile") || db.Permanent(err) {
		t.Errorf("interrupted: %v", err)
	}
	if left, err := d.Turns().Running(t.Context()); err != nil || len(left) != 1 || len(deliver(t, d)) != 0 {
		t.Errorf("something of it was stored: %+v, %v", left, err)
	}
	end.State = convo.Cancelled
	finish(t, d, end)
	if p := deliver(t, d); len(p) != 1 || p[0].Card.Body != "half" {
		t.Errorf("delivery %+v", p)
	}
}
