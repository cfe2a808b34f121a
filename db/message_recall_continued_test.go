package db_test

import (
	"errors"
	"testing"
	"time"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/convo"
)

// goOn continues an interrupted turn, as its button does.
func goOn(t testing.TB, d *db.DB, turn int64) {
	t.Helper()
	w := db.Decision{Key: oc, Turn: turn, GoOn: true, ContinueMessage: chat.Message{Text: "continue", Time: time.Now()}}
	if err := d.Turns().Decide(t.Context(), w); err != nil {
		t.Fatal(err)
	}
}

// saysGoOn continues an interrupted turn, as a message does.
func saysGoOn(t testing.TB, d *db.DB, id string, turn int64) {
	t.Helper()
	e := say(id, "go on")
	e.Continues = turn
	accept(t, d, e)
}

// interrupted asks something, and interrupts its turn.
func interrupted(t testing.TB, d *db.DB) db.Turn {
	t.Helper()
	accept(t, d, say("om_1", "one"))
	c := claim(t, d, "s-1")
	finish(t, d, db.TurnResult{Turn: c.Turn, State: convo.Interrupted, Answer: "half of one"})
	return c.Turn
}

// noTurn checks that nothing waits to be asked.
func noTurn(t testing.TB, d *db.DB) {
	t.Helper()
	if c, err := d.Turns().Claim(t.Context(), oc, startIn("s-9")); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("asked next: %q, %v", texts(c.Asked), err)
	}
}

// The question of an interrupted turn is recalled while another turn continues it: that one is stopped like its own,
// whatever asked it to continue, and its answer is hidden.
func TestARecallReachesTheTurnThatContinues(t *testing.T) {
	ways := map[string]func(t *testing.T, d *db.DB, turn int64){
		"a button":  func(t *testing.T, d *db.DB, turn int64) { goOn(t, d, turn) },
		"a message": func(t *testing.T, d *db.DB, turn int64) { saysGoOn(t, d, "om_2", turn) },
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Run("waiting", func(t *testing.T) {
				d := fresh(t)
				way(t, d, interrupted(t, d).ID)
				if r := recall(t, d, "om_1"); r.Running != 0 {
					t.Errorf("recalled: %+v", r)
				}
				noTurn(t, d)
			})
			t.Run("running", func(t *testing.T) {
				d := fresh(t)
				way(t, d, interrupted(t, d).ID)
				c := claim(t, d, "s-2")
				if r := recall(t, d, "om_1"); r.Running != c.Turn.ID {
					t.Errorf("recalled: %+v", r)
				}
				finish(t, d, db.TurnResult{Turn: c.Turn, State: convo.Cancelled, Answer: "the other half",
					Session: db.Session{ID: "s-2"}})
				noTurn(t, d)
				if got := history(t, d, 0, 99); got != "" {
					t.Errorf("history %q", got)
				}
				if got, err := d.Chats().Get(t.Context(), oc); err != nil || got.Session.ID != "" {
					t.Errorf("session %+v, %v", got.Session, err)
				}
			})
			t.Run("ended", func(t *testing.T) {
				d := fresh(t)
				way(t, d, interrupted(t, d).ID)
				finish(t, d, db.TurnResult{Turn: claim(t, d, "s-2").Turn, State: convo.Done, Answer: "the other half"})
				recall(t, d, "om_1")
				if got := history(t, d, 0, 99); got != "" {
					t.Errorf("history %q", got)
				}
			})
			t.Run("interrupted, too", func(t *testing.T) {
				d := fresh(t)
				way(t, d, interrupted(t, d).ID)
				second := claim(t, d, "s-2").Turn
				finish(t, d, db.TurnResult{Turn: second, State: convo.Interrupted, Answer: "three quarters"})
				goOn(t, d, second.ID)
				third := claim(t, d, "s-3").Turn
				if r := recall(t, d, "om_1"); r.Running != third.ID {
					t.Errorf("recalled: %+v", r)
				}
				finish(t, d, db.TurnResult{Turn: third, State: convo.Cancelled, Answer: "all"})
				if got := history(t, d, 0, 99); got != "" {
					t.Errorf("history %q", got)
				}
			})
			t.Run("with another question", func(t *testing.T) {
				d := fresh(t)
				way(t, d, interrupted(t, d).ID)
				accept(t, d, say("om_3", "two"))
				c := claim(t, d, "s-2")
				if r := recall(t, d, "om_1"); r.Running != c.Turn.ID {
					t.Errorf("recalled: %+v", r)
				}
				finish(t, d, db.TurnResult{Turn: c.Turn, State: convo.Cancelled, Answer: "one is"})
				again := claim(t, d, "s-3")
				last := again.Asked[len(again.Asked)-1]
				if last.Text != "two" || again.Turn.Continues != 0 || again.Resume {
					t.Errorf("asked next: %q, continues %d", texts(again.Asked), again.Turn.Continues)
				}
				if got := history(t, d, 0, again.Turn.ID); got != "" {
					t.Errorf("history %q", got)
				}
			})
		})
	}
}

// One of two questions of an interrupted turn is recalled: the other is asked again, unless a tool may have been used.
func TestOneQuestionOfAContinuedTurnIsRecalled(t *testing.T) {
	for _, acted := range []bool{false, true} {
		d := fresh(t)
		accept(t, d, say("om_0", "zero"))
		turn := interrupted(t, d)
		goOn(t, d, turn.ID)
		c := claim(t, d, "s-2")
		if acted {
			if _, err := d.Turns().Happens(t.Context(), oc, convo.Acts{Turn: c.Turn.ID, Acted: true}); err != nil {
				t.Fatal(err)
			}
		}
		if r := recall(t, d, "om_1"); r.Running != c.Turn.ID {
			t.Errorf("recalled: %+v", r)
		}
		finish(t, d, db.TurnResult{Turn: c.Turn, State: convo.Cancelled, Answer: "one is"})
		if acted {
			noTurn(t, d)
		} else if again := claim(t, d, "s-3"); texts(again.Asked) != "u:zero u:continue" || again.Turn.Continues != 0 {
			t.Errorf("asked next: %q, continues %d", texts(again.Asked), again.Turn.Continues)
		}
	}
}

// continuesFollowUp makes an interrupted follow-up, and a running turn that continues it.
func continuesFollowUp(t *testing.T, d *db.DB) (followUp db.Turn, c db.Claim) {
	t.Helper()
	_, followUp = watching(t, d)
	if _, err := d.Turns().Happens(t.Context(), oc, convo.Wakes{Turn: followUp.ID}); err != nil {
		t.Fatal(err)
	}
	finish(t, d, db.TurnResult{Turn: claim(t, d, "s-1").Turn, State: convo.Interrupted, Answer: "the build"})
	goOn(t, d, followUp.ID)
	return followUp, claim(t, d, "s-2")
}

// A follow-up that was interrupted is continued by another turn, which a recall reaches, too.
func TestARecallReachesWhatContinuesAFollowUp(t *testing.T) {
	d := fresh(t)
	_, c := continuesFollowUp(t, d)
	if r := recall(t, d, "om_1"); r.Running != c.Turn.ID {
		t.Errorf("recalled: %+v", r)
	}
}
