package db_test

import (
	"errors"
	"testing"

	"magpie/db"
	"magpie/internal/convo"
)

// watching asks a question whose agent continues in the background after its answer.
func watching(t testing.TB, d *db.DB) (asked, followUp db.Turn) {
	t.Helper()
	accept(t, d, say("om_1", "watch the build"))
	c := claim(t, d, "s-1")
	finish(t, d, db.TurnResult{Turn: c.Turn, State: convo.Done, Answer: "I watch it", WorksOn: true,
		Session: db.Session{ID: "s-1", Node: "here"}})
	f, err := d.Turns().OpenFollowUp(t.Context(), oc)
	if err != nil {
		t.Fatal(err)
	}
	return c.Turn, f
}

// A follow-up, which the agent starts by itself, answers the same question and is recalled with it.
func TestAFollowUpIsRecalledWithItsQuestion(t *testing.T) {
	enqueue := func(t *testing.T, d *db.DB, f db.Turn) {
		if _, err := d.Turns().Happens(t.Context(), oc, convo.Wakes{Turn: f.ID}); err != nil {
			t.Fatal(err)
		}
	}
	gone := func(t *testing.T, d *db.DB, r db.Recalled, f db.Turn) {
		if r.Running != 0 || r.FollowUp.ID != f.ID {
			t.Errorf("recalled: %+v", r)
		}
		if _, err := d.Turns().OpenFollowUp(t.Context(), oc); !errors.Is(err, db.ErrNotFound) {
			t.Errorf("it still waits: %v", err)
		}
		if _, err := d.Turns().Claim(t.Context(), oc, startIn("s-2")); !errors.Is(err, db.ErrNotFound) {
			t.Errorf("it still runs: %v", err)
		}
	}
	t.Run("while the agent works", func(t *testing.T) {
		d := fresh(t)
		_, f := watching(t, d)
		gone(t, d, recall(t, d, "om_1"), f)
	})
	t.Run("in the queue", func(t *testing.T) {
		d := fresh(t)
		_, f := watching(t, d)
		enqueue(t, d, f)
		gone(t, d, recall(t, d, "om_1"), f)
	})
	t.Run("while it runs", func(t *testing.T) {
		d := fresh(t)
		_, f := watching(t, d)
		enqueue(t, d, f)
		c := claim(t, d, "s-2")
		if r := recall(t, d, "om_1"); r.Running != f.ID || r.FollowUp.ID != 0 {
			t.Errorf("recalled: %+v", r)
		}
		if all, err := d.Turns().AllRecalled(t.Context(), c.Turn); err != nil || !all {
			t.Errorf("the stop has another cause: %v, %v", all, err)
		}
		finish(t, d, db.TurnResult{Turn: c.Turn, State: convo.Cancelled, Answer: "the build is",
			Session: db.Session{ID: "s-1", Node: "here"}})
		if got := history(t, d, 0, 99); got != "" {
			t.Errorf("history %q", got)
		}
	})
	t.Run("when it has ended", func(t *testing.T) {
		d := fresh(t)
		_, f := watching(t, d)
		enqueue(t, d, f)
		c := claim(t, d, "s-2")
		finish(t, d, db.TurnResult{Turn: c.Turn, State: convo.Done, Answer: "the build is green"})
		if r := recall(t, d, "om_1"); r.Running != 0 || r.FollowUp.ID != 0 {
			t.Errorf("recalled: %+v", r)
		}
		if got := history(t, d, 0, 99); got != "" {
			t.Errorf("history %q", got)
		}
	})
	t.Run("one of two questions", func(t *testing.T) {
		d := fresh(t)
		accept(t, d, say("om_0", "and tell me"))
		_, f := watching(t, d)
		if r := recall(t, d, "om_1"); r.Running != 0 || r.FollowUp.ID != 0 {
			t.Errorf("recalled: %+v", r)
		}
		if still, err := d.Turns().OpenFollowUp(t.Context(), oc); err != nil || still.ID != f.ID {
			t.Errorf("it does not wait any more: %v", err)
		}
	})
}

// A question may be recalled just before its turn ends, or before the agent starts its follow-up: then nothing is shown
// about it.
func TestNoFollowUpOfARecalledQuestion(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_1", "watch the build"))
	c := claim(t, d, "s-1")
	recall(t, d, "om_1")
	finish(t, d, db.TurnResult{Turn: c.Turn, State: convo.Done, Answer: "I watch it", WorksOn: true})
	if f, err := d.Turns().OpenFollowUp(t.Context(), oc); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("there is a follow-up: %+v, %v", f, err)
	}
	if f, err := d.Turns().FollowUp(t.Context(), c.Turn); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("there is a follow-up: %+v, %v", f.Turn, err)
	}
}

// When one of several questions is recalled, the others are asked again by another turn: nothing is told for the first
// one any more.
func TestNoFollowUpOfQuestionsThatAreAskedAgain(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_0", "watch the build"))
	accept(t, d, say("om_1", "and tell me"))
	c := claim(t, d, "s-1")
	if _, err := d.Turns().FollowUp(t.Context(), c.Turn); err != nil { // its agent asks in the background
		t.Fatal(err)
	}
	recall(t, d, "om_1")
	finish(t, d, db.TurnResult{Turn: c.Turn, State: convo.Cancelled, WorksOn: true})
	if f, err := d.Turns().OpenFollowUp(t.Context(), oc); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("there is a follow-up: %+v, %v", f, err)
	}
	if next := claim(t, d, "s-2"); texts(next.Asked) != "u:watch the build" {
		t.Errorf("asked again: %q", texts(next.Asked))
	}
}
