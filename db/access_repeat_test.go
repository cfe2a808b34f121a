package db_test

import (
	"errors"
	"slices"
	"testing"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/convo"
)

// An approval is repeated once, as an answer to its card, and only while it can be decided. A repetition that is still
// undelivered when it is decided becomes void.
func TestAnApprovalIsRepeatedOnce(t *testing.T) {
	d := fresh(t)
	turn := accept(t, d, say("om_1", "go")).Turn
	a := asking(t, d, turn)
	repeat := func() error { return d.Access().Remind(t.Context(), a, "still waiting", a.Askers) }
	if err := repeat(); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("before its card was posted: %v", err)
	}
	must(t, d.Outbox().SetCard(t.Context(), db.Post{Key: a.Key, Approval: a.ID}, "om_card/entity/x"))
	deliver(t, d)
	must(t, d.Chats().Set(t.Context(), oc, func(s *db.Settings) { s.Notify = db.NotifyOff }))
	if err := repeat(); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("where notifications are off: %v", err)
	}
	must(t, d.Chats().Set(t.Context(), oc, func(s *db.Settings) { s.Notify = "" }))
	must(t, repeat())
	if err := repeat(); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("a second time: %v", err)
	}
	p := next(t, d)
	if p.ReplyTo != "om_card" || p.Text != "still waiting" || !slices.Equal(p.Mentions, a.Askers) || p.Approval != "" {
		t.Errorf("delivery %+v", p)
	}
	a.Settlement = db.Settlement{State: convo.Allowed, By: chat.Actor{ID: "ou_1"}}
	must(t, d.Access().Settle(t.Context(), a,
		db.Settling{From: convo.Waiting, AgentWaiting: true, Card: chat.Card{Body: "allowed"}}))
	if list := deliver(t, d); len(list) != 1 || list[0].Approval != a.ID {
		t.Errorf("deliveries after the decision: %+v", list)
	}
	if err := repeat(); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("after the decision: %v", err)
	}
}
