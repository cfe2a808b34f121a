package bridge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"magpie/bridge/turncard"
	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

func pressed(id, do string, turn int64) chat.Press {
	return chat.Press{ID: id, Key: room, Actor: chat.Actor{ID: "ou_1"}, Action: chat.Action{Do: do, Turn: turn}}
}

// cutOff leaves a turn that was interrupted.
func (l *bridgeRig) cutOff(id string) (turn int64) {
	l.Helper()
	l.abandonedTurn(id, "hello")
	left := l.left()
	l.must(l.store.Turns().Finish(l.Context(),
		db.TurnResult{Turn: left, State: convo.Interrupted, Answer: "half", Card: chat.Card{Body: "half"}}))
	return left.ID
}

// A press that was not stored may be redelivered by the platform, and then counts, once.
func TestAPressThatFailedCountsWhenItIsToldAgain(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	press := pressed("ev_1", turncard.DoContinue, l.cutOff("om_1"))
	broken := dbtest.Trigger{Name: "broken", On: "BEFORE UPDATE OF failure ON turns", If: "NEW.failure <> OLD.failure"}
	l.sql(broken.Create())
	if got, err := l.bridge.HandlePress(t.Context(), press); err == nil || got != i18n.PressFailed.EN {
		t.Fatalf("told %q, %v", got, err)
	}
	l.sql(broken.Drop())
	for _, want := range []string{i18n.GoingOn.EN, ""} {
		if got, err := l.bridge.HandlePress(t.Context(), press); got != want || err != nil {
			t.Errorf("told %q, %v, want %q", got, err, want)
		}
	}
	press.ID = "ev_2"
	if got, err := l.bridge.HandlePress(t.Context(), press); got != i18n.StopOver.EN || err != nil {
		t.Errorf("pressed again: told %q, %v", got, err)
	}
	if n := l.count(`SELECT COUNT(*) FROM turns WHERE state = 'queued'`); n != 1 {
		t.Errorf("%d turns go on", n)
	}
}

// An agent can be stopped whatever the state of the disk. A button without a turn stops nothing.
func TestTheStopButtonNeedsNoStore(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	ctx, stop := context.WithCancelCause(t.Context())
	l.beginTurn(room, 7, stop)
	l.must(l.store.Close())
	got, err := l.bridge.HandlePress(t.Context(), pressed("ev_1", turncard.DoStop, 0))
	if ctx.Err() != nil || err != nil {
		t.Errorf("a forged press: told %q, %v", got, err)
	}
	if got, err := l.bridge.HandlePress(t.Context(), pressed("ev_2", turncard.DoStop, 7)); got != i18n.StopAsked.ZH ||
		err != nil {
		t.Errorf("told %q, %v", got, err)
	}
	if !errors.Is(context.Cause(ctx), errStopped) {
		t.Error("the turn goes on")
	}
}

// Whatever ends a conversation ends its interrupted turns that wait for a decision, in the same transaction: their
// cards offer nothing that is refused. What goes back to a session of the same conversation does not.
func TestWhatWaitsEndsWithItsConversation(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		waits func(*bridgeRig) int64 // the turn
		end   func(*bridgeRig) error
		said  string
	}{
		"/new":         {waits: cutOffAnswer, end: saying("/new"), said: "half"},
		"/reset":       {waits: cutOffAnswer, end: saying("/reset"), said: "half"},
		"/new with it": {waits: cutOffAnswer, end: saying("/new hello"), said: "half"},
		"the button": {waits: cutOffAnswer, said: "half", end: func(l *bridgeRig) error {
			_, err := l.bridge.HandlePress(l.Context(), chat.Press{Key: room, ID: "ev_new", Actor: chat.Actor{ID: "ou_1"},
				Action: chat.Action{Do: turncard.DoCommand, ID: "/new"}})
			return err
		}},
		"a late question": {waits: lateQuestion, end: saying("/new")},
		"background work": {waits: func(l *bridgeRig) int64 {
			turn := l.cutOff("om_1")
			l.sql(`UPDATE turns SET follows = 1`)
			return turn
		}, end: saying("/new"), said: "half"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newRig(t)
			turn := tc.waits(l)
			l.must(l.recover(t.Context()))
			l.must(tc.end(l))
			if n := l.count(`SELECT COUNT(*) FROM turns WHERE id = ` + fmt.Sprint(turn) + ` AND state = 'cancelled'`); n != 1 {
				t.Error("it still waits")
			}
			flush(t.Context(), l.outbox())
			_, closed, _ := l.rec.SoFar()
			card := closed[len(closed)-1]
			if len(card.Buttons) != 0 || !strings.Contains(card.Body+card.Status, i18n.ConversationOver.EN) ||
				!strings.Contains(card.Body, tc.said) {
				t.Errorf("its card: %+v", card)
			}
			for _, do := range []string{turncard.DoContinue, turncard.DoDrop} {
				if got, err := l.bridge.HandlePress(t.Context(), pressed("ev_"+do, do, turn)); got != i18n.StopOver.EN {
					t.Errorf("%s: told %q, %v", do, got, err)
				}
			}
		})
	}
}

// A stopped or failed answer is continued in its conversation, also after other questions there, and in no other one.
func TestAnEndedTurnGoesOnInItsConversation(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		state convo.Phase
		then  string
		told  string
		asked int
	}{
		"stopped, then another question": {convo.Cancelled, "and now?", "", 1},
		"failed, then another question":  {convo.Failed, "and now?", "", 1},
		"stopped, then /new":             {convo.Cancelled, "/new", i18n.ConversationOver.EN, 0},
		"failed, then /new":              {convo.Failed, "/new", i18n.ConversationOver.EN, 0},
		"failed, then /new with it":      {convo.Failed, "/new and now?", i18n.ConversationOver.EN, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newRig(t)
			l.abandonedTurn("om_1", "hello")
			turn := l.left()
			end := turncard.Outcome{State: tc.state, Failure: turncard.FailDied}
			view := turncard.New(turn.ID, i18n.English, time.Now()).WithAnswer("half")
			l.must(l.history().finish(t.Context(), db.TurnResult{Turn: turn, Answer: "half"}, view, end))
			l.must(saying(tc.then)(l))
			got, err := l.bridge.HandlePress(t.Context(), pressed("ev_go_on", turncard.DoGoOn, turn.ID))
			if l.must(err); got != tc.told {
				t.Errorf("told %q", got)
			}
			n := l.count(`SELECT COUNT(*) FROM messages WHERE content = '` + i18n.ContinueWord.EN + `'`)
			if n != tc.asked {
				t.Errorf("asked to continue %d times", n)
			}
		})
	}
}

func saying(text string) func(*bridgeRig) error {
	return func(l *bridgeRig) error { return l.bridge.HandleMessage(l.Context(), incoming("om_end", text)) }
}

func cutOffAnswer(l *bridgeRig) int64 { return l.cutOff("om_1") }

// lateQuestion is a question that waits for somebody to say whether it is answered.
func lateQuestion(l *bridgeRig) int64 {
	l.Helper()
	m := incoming("om_1", "what was that?")
	m.Time = time.Now().Add(-2 * time.Hour)
	l.must(l.bridge.HandleMessage(l.Context(), m))
	return 1
}

// Going back to another conversation ends the one before; going back to another session of the same one does not.
func TestWhatWaitsEndsWhenAnotherConversationIsResumed(t *testing.T) {
	t.Parallel()
	for _, another := range []bool{true, false} {
		t.Run(fmt.Sprint(another), func(t *testing.T) {
			t.Parallel()
			l := newRig(t)
			l.start()
			l.say("om_1", "first question")
			l.settled(1)
			first := l.chat().Session.ID
			if another {
				l.say("om_2", "/new")
			}
			l.say("om_3", "second question")
			l.settled(2)
			l.sql(`UPDATE turns SET state = 'interrupted' WHERE id = 2`)
			l.must(l.store.Chats().ForgetSession(t.Context(), room, l.chat().Session.ID))
			l.say("om_4", "/resume "+first)
			if got := l.chat().Session.ID; got != first {
				t.Fatalf("it goes on in %s", got)
			}
			want := "interrupted"
			if another {
				want = "cancelled"
			}
			if n := l.count(`SELECT COUNT(*) FROM turns WHERE id = 2 AND state = '` + want + `'`); n != 1 {
				t.Errorf("the turn is not %s", want)
			}
		})
	}
}

// A decision that the turn of an ended conversation has not used before the program was killed is withdrawn: nothing
// was run.
func TestAnUnusedDecisionEndsWithItsConversation(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.abandonedTurn("om_1", "hello")
	l.sql(`UPDATE turns SET acted = 1`)
	a := db.Approval{
		ID: "a_1", Key: room, Turn: 1, NeededBy: 1, Tool: "Bash", Input: []byte(`{"command":"ls"}`), Created: time.Now(),
		Expires: time.Now().Add(time.Hour), Settlement: db.Settlement{State: convo.Waiting},
	}
	l.must(l.store.Access().Ask(t.Context(), a, chat.Card{}, "om_1"))
	a.State = convo.Allowed
	l.must(l.store.Access().Settle(t.Context(), a, db.Settling{From: convo.Waiting}))
	l.say("om_2", "/new")
	l.must(l.recover(t.Context()))
	if n := l.count(`SELECT COUNT(*) FROM turns WHERE state = 'cancelled' AND failure = 'over'`); n != 1 {
		t.Error("the turn has not ended with its conversation")
	}
	if n := l.count(`SELECT COUNT(*) FROM approvals WHERE state = 'withdrawn'`); n != 1 {
		t.Error("the card of the request says that it was allowed, and nothing was run")
	}
}

// What is cut off after its conversation has ended keeps what was said and offers nothing: not even "Continue" as a new
// question, which would be asked in the new conversation.
func TestWhatIsCutOffInAnEndedConversationOffersNothing(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]string{"an answer": "acted = 1", "background work": "follows = 1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newRig(t)
			l.abandonedTurn("om_1", "hello")
			l.sql(`UPDATE turns SET draft = 'half', ` + how)
			l.say("om_2", "/new")
			l.must(l.recover(t.Context()))
			if n := l.count(`SELECT COUNT(*) FROM turns WHERE state = 'cancelled' AND failure = 'over'`); n != 1 {
				t.Error("it has not ended with its conversation")
			}
			if n := l.count(`SELECT COUNT(*) FROM messages WHERE role = 'assistant' AND content = 'half'`); n != 1 {
				t.Error("what was said is not in the History")
			}
			flush(t.Context(), l.outbox())
			_, closed, _ := l.rec.SoFar()
			if card := closed[len(closed)-1]; len(card.Buttons) != 0 || card.Body != "half" || card.Status == "" {
				t.Errorf("its card: %+v", card)
			}
		})
	}
}

// Whoever takes back the last question of what was interrupted ends it: its card says so, and offers nothing any more.
func TestARecallEndsTheCardOfWhatWasInterrupted(t *testing.T) {
	t.Parallel()
	for name, waits := range map[string]func(*bridgeRig) int64{
		"an answer": cutOffAnswer,
		"background work": func(l *bridgeRig) int64 {
			l.abandonedTurn("om_1", "hello")
			l.must(l.store.Turns().Finish(l.Context(), db.TurnResult{Turn: l.left(), State: convo.Done, WorksOn: true}))
			l.must(l.store.Turns().Finish(l.Context(),
				db.TurnResult{Turn: l.left(), State: convo.Interrupted, Answer: "half", Card: chat.Card{Body: "half"}}))
			return 2
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newRig(t)
			turn := waits(l)
			l.must(l.recover(t.Context()))
			flush(t.Context(), l.outbox())
			l.must(l.bridge.HandleRecall(t.Context(), room, "om_1"))
			flush(t.Context(), l.outbox())
			_, closed, _ := l.rec.SoFar()
			if card := closed[len(closed)-1]; len(card.Buttons) != 0 || card.Body != i18n.Recalled.EN {
				t.Errorf("its card: %+v", card)
			}
			if got, err := l.bridge.HandlePress(t.Context(), pressed("ev_1", turncard.DoContinue, turn)); got != i18n.StopOver.EN {
				t.Errorf("told %q, %v", got, err)
			}
		})
	}
}
