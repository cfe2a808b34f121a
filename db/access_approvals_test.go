package db_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/convo"
)

var touch = db.Permit{Tool: "Bash", Kind: "exact", Content: "touch x"}

// asking stores an approval that the chat's running turn waits for.
func asking(t *testing.T, d *db.DB, turn int64) db.Approval {
	t.Helper()
	now := time.Now().UTC().Truncate(time.Millisecond)
	a := db.Approval{
		ID: uuid.NewString(), Key: oc, Turn: turn, NeededBy: turn, Tool: "Bash",
		Input: json.RawMessage(`{"command": "touch x",  "n": 1e3}`), Project: "/p",
		Always: &touch, Askers: []string{"ou_1", "ou_2"}, Created: now, Expires: now.Add(time.Minute),
		Settlement: db.Settlement{State: convo.Waiting},
	}
	if err := d.Access().Ask(t.Context(), a, chat.Card{Body: "may I?"}, "om_1"); err != nil {
		t.Fatal(err)
	}
	return a
}

// deliver takes everything that is due in the chat out of the outbox.
func deliver(t *testing.T, d *db.DB) (list []db.Post) {
	t.Helper()
	for {
		p, err := d.Outbox().Next(t.Context(), oc)
		if errors.Is(err, db.ErrNotFound) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
		if err := d.Outbox().MarkDelivered(t.Context(), p, ""); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAnApprovalIsKeptAsItWasAsked(t *testing.T) {
	d := fresh(t)
	a := asking(t, d, accept(t, d, say("om_1", "go")).Turn)
	got, err := d.Access().Approval(t.Context(), a.ID)
	if err != nil || !reflect.DeepEqual(got, a) {
		t.Errorf("%+v, %v, want %+v", got, err, a)
	}
	if list, err := d.Access().OpenApprovals(t.Context(), oc); err != nil || len(list) != 1 || list[0].ID != a.ID {
		t.Errorf("waiting: %+v, %v", list, err)
	}
	if _, err := d.Access().Approval(t.Context(), uuid.NewString()); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
	p := deliver(t, d)
	if len(p) != 1 || p[0].Approval != a.ID || p[0].ReplyTo != "om_1" || p[0].Card == nil ||
		p[0].Card.Body != "may I?" || p[0].CardID != "" {
		t.Errorf("delivery %+v", p)
	}
	other := a
	other.Input = json.RawMessage(`{"command": "touch y",  "n": 1e3}`)
	if a.Hash() == other.Hash() || len(a.Hash()) != 64 {
		t.Errorf("hash %s", a.Hash())
	}
}

// An approval whose input differs from the stored hash is not returned.
func TestAChangedApprovalIsRefused(t *testing.T) {
	d := fresh(t)
	a := asking(t, d, accept(t, d, say("om_1", "go")).Turn)
	if err := d.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE approvals SET input = '{"command": "rm -rf /"}'`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Access().Approval(t.Context(), a.ID); err == nil ||
		!strings.Contains(err.Error(), "has changed since it was stored") {
		t.Errorf("got %v", err)
	}
}

func TestAnApprovalIsSettledOnce(t *testing.T) {
	d := fresh(t)
	turn := accept(t, d, say("om_1", "go")).Turn
	claim(t, d, "s")
	a := asking(t, d, turn)
	if err := d.Outbox().SetCard(t.Context(), db.Post{Key: a.Key, Approval: a.ID}, "card_1"); err != nil {
		t.Fatal(err)
	}
	deliver(t, d)
	a.Settlement = db.Settlement{State: convo.Allowed, By: chat.Actor{ID: "ou_1", Name: "小明"}, Words: "ok"}
	settling := db.Settling{
		From: convo.Waiting, Event: "ev_1", Card: chat.Card{Body: "allowed"}, Always: true, AgentWaiting: true,
	}
	if err := d.Access().Settle(t.Context(), a, settling); err != nil {
		t.Fatal(err)
	}
	if err := d.Access().Settle(t.Context(), a, settling); !errors.Is(err, db.ErrRepeated) {
		t.Errorf("the same press: %v", err)
	}
	denied := a
	denied.State = convo.Denied
	if err := d.Access().Settle(t.Context(), denied, db.Settling{From: convo.Waiting, Event: "ev_2"}); !errors.Is(err,
		db.ErrNotFound) {
		t.Errorf("another press: %v", err)
	}
	if got, err := d.Access().Approval(t.Context(), a.ID); err != nil || !reflect.DeepEqual(got, a) {
		t.Errorf("%+v, %v", got, err)
	}
	if p := deliver(t, d); len(p) != 1 || p[0].CardID != "card_1" || p[0].Card.Body != "allowed" ||
		p[0].ReplyTo != "om_1" {
		t.Errorf("delivery %+v", p)
	}
	if list, err := d.Access().OpenApprovals(t.Context(), oc); err != nil || len(list) != 0 {
		t.Errorf("waiting: %+v, %v", list, err)
	}
	rules, err := d.Access().Rules(t.Context(), oc)
	if err != nil || len(rules) != 1 || rules[0].Permit != touch || rules[0].Project != "/p" || rules[0].By != a.By ||
		rules[0].Number != 1 {
		t.Errorf("rules %+v, %v", rules, err)
	}
}

// A rule is created once, belongs to its chat, and ends with the message that revokes it. Its number is not reused.
func TestRulesOfAChat(t *testing.T) {
	d := fresh(t)
	turn := accept(t, d, say("om_1", "go")).Turn
	always := func() {
		t.Helper()
		a := asking(t, d, turn)
		a.Settlement = db.Settlement{State: convo.Allowed, By: chat.Actor{ID: "ou_1"}}
		if err := d.Access().Settle(t.Context(), a, db.Settling{From: convo.Waiting, Always: true}); err != nil {
			t.Fatal(err)
		}
	}
	numbers := func(key chat.Key) (list []int64) {
		t.Helper()
		rules, err := d.Access().Rules(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rules {
			list = append(list, r.Number)
		}
		return list
	}
	always()
	always()
	if got := numbers(oc); !reflect.DeepEqual(got, []int64{1}) {
		t.Errorf("made twice: %v", got)
	}
	elsewhere := say("om_2", "/allow revoke 1")
	elsewhere.Key, elsewhere.Effects = chat.FeishuChat("oc_other"), []db.Effect{db.RevokeRule{Number: 1}}
	accept(t, d, elsewhere)
	if got := numbers(oc); !reflect.DeepEqual(got, []int64{1}) || numbers(elsewhere.Key) != nil {
		t.Errorf("another chat revoked it: %v", got)
	}
	e := say("om_3", "/allow revoke 1")
	e.Effects = []db.Effect{db.RevokeRule{Number: 1}}
	accept(t, d, e)
	if got := numbers(oc); got != nil {
		t.Errorf("revoked: %v", got)
	}
	always()
	if got := numbers(oc); !reflect.DeepEqual(got, []int64{2}) {
		t.Errorf("made again: %v", got)
	}
}

// A decision that came too late withdraws the rule that it created, and no other.
func TestALateApprovalLeavesNoRule(t *testing.T) {
	d := fresh(t)
	turn := accept(t, d, say("om_1", "go")).Turn
	always := func(told bool) db.Approval {
		t.Helper()
		a := asking(t, d, turn)
		a.Settlement = db.Settlement{State: convo.Allowed, By: chat.Actor{ID: "ou_1"}}
		if err := d.Access().Settle(t.Context(), a, db.Settling{From: convo.Waiting, Always: true,
			AgentWaiting: told}); err != nil {
			t.Fatal(err)
		}
		return a
	}
	withdraw := func(a db.Approval, want int) {
		t.Helper()
		a.Settlement = db.Settlement{State: convo.Withdrawn}
		for _, want := range []error{nil, db.ErrNotFound} { // once
			if err := d.Access().Settle(t.Context(), a, db.Settling{From: convo.Allowed}); !errors.Is(err, want) {
				t.Fatalf("%v, want %v", err, want)
			}
		}
		if rules, err := d.Access().Rules(t.Context(), oc); err != nil || len(rules) != want {
			t.Errorf("rules %+v, %v", rules, err)
		}
	}
	withdraw(always(false), 0)
	first := always(true)
	rules, err := d.Access().Rules(t.Context(), oc)
	if err != nil || len(rules) != 1 {
		t.Fatalf("rules %+v, %v", rules, err)
	}
	// two decisions must not have the same timestamp
	for !time.Now().Truncate(time.Millisecond).After(rules[0].Made) {
	}
	withdraw(always(true), 1) // the rule belongs to the first approval
	withdraw(first, 0)
}

// Until a turn is recovered it is known that people were being asked when the program ended, even if the question is
// settled by then.
func TestUnansweredApprovals(t *testing.T) {
	d := fresh(t)
	turn := accept(t, d, say("om_1", "go")).Turn
	unanswered := func() bool {
		t.Helper()
		c, err := d.Turns().Of(t.Context(), oc)
		if err != nil {
			t.Fatal(err)
		}
		return c.Asks(turn)
	}
	a := asking(t, d, turn)
	a.State = convo.Denied
	if err := d.Access().Settle(t.Context(), a, db.Settling{From: convo.Waiting}); err != nil {
		t.Fatal(err)
	}
	if unanswered() {
		t.Error("a denied approval counts as unanswered")
	}
	a = asking(t, d, turn)
	if !unanswered() {
		t.Error("a waiting approval counts as answered")
	}
	a.State = convo.Withdrawn
	if err := d.Access().Settle(t.Context(), a, db.Settling{From: convo.Waiting}); err != nil {
		t.Fatal(err)
	}
	if unanswered() {
		t.Error("a withdrawn approval counts as unanswered")
	}
}

// Settled approvals are deleted after a while; waiting ones stay.
// A message that decides what an interrupted turn needs continues it. If it comes too late, it is an ordinary question.
func TestAMessageDecidesAnApproval(t *testing.T) {
	for name, tc := range map[string]struct {
		before func(d *db.DB, a db.Approval) error
		want   bool
	}{
		"in time": {func(*db.DB, db.Approval) error { return nil }, true},
		"settled before": {func(d *db.DB, a db.Approval) error {
			a.State = convo.Expired
			return d.Access().Settle(t.Context(), a, db.Settling{From: convo.Waiting})
		}, false},
		"turn dropped before": {func(d *db.DB, a db.Approval) error {
			return d.Turns().Decide(t.Context(), db.Decision{Key: oc, Turn: a.Turn})
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := fresh(t)
			accept(t, d, say("om_1", "go"))
			claim, err := d.Turns().Claim(t.Context(), oc, db.Start{Session: "s", Prompt: "p", Resume: true})
			if err != nil {
				t.Fatal(err)
			}
			a := asking(t, d, claim.Turn.ID)
			if err := d.Turns().Finish(t.Context(), db.TurnResult{Turn: claim.Turn, State: convo.Interrupted}); err != nil {
				t.Fatal(err)
			}
			if err := tc.before(d, a); err != nil {
				t.Fatal(err)
			}
			was, err := d.Access().Approval(t.Context(), a.ID)
			if err != nil {
				t.Fatal(err)
			}
			a.Settlement = db.Settlement{State: convo.Allowed, By: chat.Actor{ID: "ou_1"}, Words: "green"}
			e := say("om_2", "green")
			e.Continues = a.Turn
			e.Effects = []db.Effect{db.DecideApproval{Approval: a, Settling: db.Settling{From: convo.Waiting}}}
			got, err := d.Messages().Accept(t.Context(), e)
			if err != nil || !got.Fresh || got.Turn == 0 || got.Decided != tc.want {
				t.Fatalf("%+v, %v", got, err)
			}
			next, err := d.Turns().Claim(t.Context(), oc, db.Start{Session: "s2", Prompt: "p2", Resume: true})
			if err != nil || next.Turn.ID != got.Turn || (next.Turn.Continues == a.Turn) != tc.want {
				t.Errorf("%+v, %v", next.Turn, err)
			}
			now, err := d.Access().Approval(t.Context(), a.ID)
			if err != nil || tc.want && now.Words != "green" || !tc.want && now.State != was.State {
				t.Errorf("%+v, %v", now, err)
			}
		})
	}
}

func TestOldApprovalsAreSwept(t *testing.T) {
	d := fresh(t)
	turn := accept(t, d, say("om_1", "go")).Turn
	settled, waits := asking(t, d, turn), asking(t, d, turn)
	settled.State = convo.Expired
	if err := d.Access().Settle(t.Context(), settled, db.Settling{From: convo.Waiting}); err != nil {
		t.Fatal(err)
	}
	cfg := db.Defaults()
	cfg.CacheTTL.Duration = -time.Minute
	if _, err := db.Sweep(t.Context(), d, cfg); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Access().Approval(t.Context(), settled.ID); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("settled: %v", err)
	}
	if _, err := d.Access().Approval(t.Context(), waits.ID); err != nil {
		t.Errorf("waiting: %v", err)
	}
}

// The card of an approval answers the same message as its turn's card, and must not be confused with it.
func TestCardsOfApprovalsAreDistinct(t *testing.T) {
	d := fresh(t)
	turn := accept(t, d, say("om_1", "go")).Turn
	a := asking(t, d, turn)
	if err := d.Outbox().SetCard(t.Context(), db.Post{Key: a.Key, Approval: a.ID}, "card_of_the_approval"); err != nil {
		t.Fatal(err)
	}
	if cards, err := d.Outbox().OtherCards(t.Context(), db.Post{Key: oc, Turn: turn}); err != nil ||
		!reflect.DeepEqual(cards, []string{"card_of_the_approval"}) {
		t.Errorf("%q, %v", cards, err)
	}
	if cards, err := d.Outbox().OtherCards(t.Context(), db.Post{Key: oc, Turn: turn + 1}); err != nil || cards != nil {
		t.Errorf("of another turn: %q, %v", cards, err)
	}
}

// The card of an approval is drawn again while it waits, and not over the one that shows its outcome.
func TestTheCardOfAnApprovalIsRedrawn(t *testing.T) {
	d := fresh(t)
	a := asking(t, d, accept(t, d, say("om_1", "go")).Turn)
	for range 2 { // while one is on its way there is no other
		if err := d.Access().Redraw(t.Context(), a, chat.Card{Body: "why?"}); err != nil {
			t.Fatal(err)
		}
	}
	p := deliver(t, d)
	if len(p) != 2 || p[1].Approval != a.ID || p[1].ReplyTo != p[0].ReplyTo || p[1].Card.Body != "why?" {
		t.Errorf("delivery %+v", p)
	}
	done := a
	done.State = convo.Denied
	err := d.Access().Settle(t.Context(), done, db.Settling{From: convo.Waiting, Card: chat.Card{Body: "no"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Access().Redraw(t.Context(), a, chat.Card{Body: "why?"}); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("after the decision: %v", err)
	}
	if p := deliver(t, d); len(p) != 1 || p[0].Card.Body != "no" {
		t.Errorf("delivery %+v", p)
	}
}

// The card of an interrupted turn is drawn again after a request that came to nothing, once for each. What has happened
// to the turn since the card was made comes first.
func TestTheCardOfAnInterruptedTurnIsRedrawn(t *testing.T) {
	for name, tc := range map[string]struct {
		since func(d *db.DB, turn db.Turn)
		holds bool
	}{
		"nothing": {since: func(*db.DB, db.Turn) {}, holds: true},
		"people are asked": {since: func(d *db.DB, turn db.Turn) {
			asking(t, d, turn.ID)
		}},
		"dropped": {since: func(d *db.DB, turn db.Turn) {
			if err := d.Turns().Decide(t.Context(), db.Decision{Key: oc, Turn: turn.ID}); err != nil {
				t.Fatal(err)
			}
		}},
		"goes on": {since: func(d *db.DB, turn db.Turn) {
			e := say("om_2", "go on")
			e.Continues = turn.ID
			accept(t, d, e)
		}},
		"another conversation": {since: func(d *db.DB, _ db.Turn) {
			e := say("om_2", "/new")
			e.Class, e.Effects = chat.Command, []db.Effect{db.StartConversation{}}
			accept(t, d, e)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d := fresh(t)
			turn := interruptedTurn(t, d)
			read, err := d.Turns().Interrupted(t.Context(), oc, turn.ID)
			if err != nil || read.ID != turn.ID || read.State != convo.Interrupted {
				t.Fatalf("%+v, %v", read, err)
			}
			tc.since(d, turn)
			deliver(t, d)
			for range 2 { // while one is on its way there is no other
				err := d.Turns().Redraw(t.Context(), oc, turn.ID, "a_1", chat.Card{Body: "half"})
				if tc.holds != (err == nil) || !tc.holds && !errors.Is(err, db.ErrNotFound) {
					t.Errorf("%v", err)
				}
			}
			if p := deliver(t, d); tc.holds != (len(p) == 1) || tc.holds && (p[0].Turn != turn.ID || p[0].Card.Body != "half") {
				t.Errorf("delivery %+v", p)
			}
		})
	}
}
