package db_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/convo"
)

// The turns of these tests start at began and end at ends.
var (
	began = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	ends  = began.Add(3 * time.Minute)
)

// noticed ends a turn with a notice, and returns whom it mentions.
func noticed(t *testing.T, d *db.DB, c db.Claim, state convo.Phase) string {
	t.Helper()
	d.At(t, ends)
	finish(t, d, db.TurnResult{
		Turn: c.Turn, State: state, Answer: "a", Card: chat.Card{Body: "a"},
		Notice: &db.Notice{After: 2 * time.Minute, Text: "ready"},
	})
	var called []string
	for i, p := range deliver(t, d) {
		if len(p.Mentions) == 0 {
			continue
		}
		if p.Text != "ready" || p.ReplyTo != c.Turn.ReplyTo || p.Turn != 0 || i == 0 {
			t.Errorf("delivery %d: %+v", i, p)
		}
		called = append(called, p.Mentions...)
	}
	return strings.Join(called, " ")
}

// sayBy is a message of another user.
func sayBy(user, id, text string) db.Inbound {
	in := say(id, text)
	in.Actor = chat.Actor{ID: user}
	return in
}

// A long turn mentions its askers in a message after its card, unless they already know the outcome.
func TestALongTurnMentionsItsAskers(t *testing.T) {
	for name, tc := range map[string]struct {
		during func(t *testing.T, d *db.DB, c db.Claim)
		state  convo.Phase
		want   string
	}{
		"nothing happens": {want: "ou_1 ou_2"},
		"it fails":        {state: convo.Failed, want: "ou_1 ou_2"},
		"it is cut off":   {state: convo.Interrupted, want: "ou_1 ou_2"},
		"it is stopped":   {state: convo.Cancelled},
		"a stop, too late": {during: func(t *testing.T, d *db.DB, c db.Claim) {
			_, err := d.Turns().Happens(t.Context(), oc, convo.Stops{Turns: []int64{c.Turn.ID}})
			must(t, err)
		}},
		"it took less": {during: func(*testing.T, *db.DB, db.Claim) { ends = began.Add(time.Minute) }},
		"one writes": {want: "ou_1", during: func(t *testing.T, d *db.DB, _ db.Claim) {
			accept(t, d, sayBy("ou_2", "om_3", "and?"))
		}},
		"one gives a command": {want: "ou_2", during: func(t *testing.T, d *db.DB, _ db.Claim) {
			in := sayBy("ou_1", db.PressID("e1"), "/status")
			in.Class = chat.Command
			accept(t, d, in)
		}},
		"somebody else writes": {want: "ou_1 ou_2", during: func(t *testing.T, d *db.DB, _ db.Claim) {
			accept(t, d, sayBy("ou_3", "om_3", "and me?"))
		}},
		"something is added": {during: func(t *testing.T, d *db.DB, c db.Claim) {
			steered(t, d, "om_3", c.Turn.ID)
			_, err := d.Turns().Happens(t.Context(), oc, convo.Reads{Turn: c.Turn.ID, Prompts: []string{"prompt-om_3"}})
			must(t, err)
		}},
		"one decides at last": {want: "ou_2", during: func(t *testing.T, d *db.DB, c db.Claim) {
			decide(t, d, c.Turn.ID, "ou_1", ends.Add(-time.Minute))
		}},
		"one decided long ago": {want: "ou_1 ou_2", during: func(t *testing.T, d *db.DB, c db.Claim) {
			decide(t, d, c.Turn.ID, "ou_1", began.Add(time.Second))
		}},
		"the chat wants none": {during: func(t *testing.T, d *db.DB, _ db.Claim) {
			must(t, d.Chats().Set(t.Context(), oc, func(s *db.Settings) { s.Notify = db.NotifyOff }))
		}},
		"a bot asks": {during: func(t *testing.T, d *db.DB, _ db.Claim) {
			must(t, d.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				_, err := tx.ExecContext(ctx, `UPDATE chats SET bot_turns = 1`)
				return err
			}))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			defer func(was time.Time) { ends = was }(ends)
			d := fresh(t)
			d.At(t, began)
			for _, in := range []db.Inbound{sayBy("ou_1", "om_1", "q"), sayBy("ou_2", "om_2", "me too")} {
				accept(t, d, in)
			}
			c := claim(t, d, "s")
			if tc.during != nil {
				tc.during(t, d, c)
			}
			if tc.state == 0 {
				tc.state = convo.Done
			}
			if got := noticed(t, d, c, tc.state); got != tc.want {
				t.Errorf("called: %q, want %q", got, tc.want)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// decide allows what a turn asked for.
func decide(t *testing.T, d *db.DB, turn int64, who string, at time.Time) {
	t.Helper()
	d.At(t, at)
	a := asking(t, d, turn)
	a.Settlement = db.Settlement{State: convo.Allowed, By: chat.Actor{ID: who}}
	must(t, d.Access().Settle(t.Context(), a, db.Settling{From: convo.Waiting, AgentWaiting: true}))
	deliver(t, d)
}

// The notice is stored with the end of the turn or not at all: a crash in between neither loses nor repeats it.
func TestTheNoticeIsStoredWithTheEndOfTheTurn(t *testing.T) {
	d := fresh(t)
	d.At(t, began)
	accept(t, d, say("om_1", "q"))
	c := claim(t, d, "s")
	d.At(t, ends)
	end := db.TurnResult{Turn: c.Turn, State: convo.Done, Answer: "a", Notice: &db.Notice{After: time.Minute, Text: "ready"}}
	// the last statement of the transaction fails
	trigger := func(statement string) {
		must(t, d.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, statement)
			return err
		}))
	}
	full := dbtest.Trigger{Name: "no_space", On: "BEFORE UPDATE OF turned_at ON chats"}
	trigger(full.Create())
	if err := d.Turns().Finish(t.Context(), end); err == nil {
		t.Fatal("the end was stored")
	}
	empty(t, d)
	trigger(full.Drop())
	for range 2 { // the second end stores no further notice
		if err := d.Turns().Finish(t.Context(), end); err != nil && !errors.Is(err, db.ErrNotFound) {
			t.Fatal(err)
		}
	}
	list := deliver(t, d)
	if len(list) != 2 || list[0].Card == nil || !slices.Equal(list[1].Mentions, []string{"ou_1"}) {
		t.Errorf("deliveries %+v", list)
	}
}
