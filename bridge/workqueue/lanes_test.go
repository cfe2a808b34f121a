package workqueue

import (
	"context"
	"errors"
	"testing"

	"magpie/internal/chat"
)

// A message that arrives while a lane is about to end must not be lost.
func TestALaneLooksAgain(t *testing.T) {
	ls := Lanes{byChat: map[chat.Key]*lane{}}
	key := chat.FeishuChat("oc_1")
	if !ls.Enter(key) {
		t.Fatal("the lane is free, but could not be entered")
	}
	if ls.Enter(key) {
		t.Fatal("two workers are in the lane")
	}
	if ls.Leave(key) {
		t.Fatal("the worker left although work had arrived")
	}
	if !ls.Leave(key) || !ls.Enter(key) {
		t.Fatal("the lane cannot be left and entered again")
	}
}

func TestStopMeansTheTurnThatRuns(t *testing.T) {
	ls := Lanes{byChat: map[chat.Key]*lane{}}
	key := chat.FeishuChat("oc_1")
	if ls.StopTurn(key, 7) {
		t.Error("stopped nothing")
	}
	ls.Enter(key)
	if ls.StopTurn(key, 0) {
		t.Error("stopped a lane without a turn")
	}
	ctx, stop := context.WithCancelCause(t.Context())
	ls.BeginTurn(key, 7, stop)
	if ls.StopTurn(key, 6) || ctx.Err() != nil {
		t.Error("the button of an old card stopped the turn")
	}
	if ls.RunningTurn(key) != 7 || !ls.StopTurn(key, 7) || !errors.Is(context.Cause(ctx), ErrStopped) {
		t.Error("the turn was not stopped")
	}
	ls.EndTurn(key)
	if ls.RunningTurn(key) != 0 || ls.StopTurn(key, 7) {
		t.Error("the turn continues after its end")
	}
}
