package bridge

import (
	"context"
	"errors"
	"testing"

	"magpie/bridge/i18n"
	"magpie/bridge/turncard"
	"magpie/bridge/workqueue"
	"magpie/db"
	"magpie/internal/chat"
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
		db.TurnResult{Turn: left, State: db.Interrupted, Answer: "half", Card: chat.Card{Body: "half"}}))
	return left.ID
}

// A press that was not stored may be redelivered by the platform, and then counts, once.
func TestAPressThatFailedCountsWhenItIsToldAgain(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	press := pressed("ev_1", turncard.DoContinue, l.cutOff("om_1"))
	l.sql(`CREATE TRIGGER broken BEFORE UPDATE OF failure ON turns BEGIN SELECT RAISE(FAIL, 'broken'); END`)
	if got, err := l.bridge.HandlePress(t.Context(), press); err == nil || got != i18n.PressFailed.EN {
		t.Fatalf("told %q, %v", got, err)
	}
	l.sql(`DROP TRIGGER broken`)
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
	if !errors.Is(context.Cause(ctx), workqueue.ErrStopped) {
		t.Error("the turn goes on")
	}
}
