package db_test

import (
	"testing"
	"time"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/convo"
)

// steered stores a message for a turn.
func steered(t *testing.T, d *db.DB, id string, turn int64) db.AcceptResult {
	t.Helper()
	e := say(id, "also: "+id)
	e.Adds, e.Prompt = turn, "prompt-"+id
	return accept(t, d, e)
}

// A message for a running turn belongs to it once it is read. Messages that are unread when the turn ends are asked
// next, in order, and later ones wait like any question.
func TestMessagesForATurnThatRuns(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_1", "question"))
	c := claim(t, d, "s-1")
	for _, id := range []string{"om_2", "om_3", "om_4"} {
		if a := steered(t, d, id, c.Turn.ID); !a.Steered || a.Turn != c.Turn.ID || a.Message.Text != "also: "+id {
			t.Errorf("%s: %+v", id, a)
		}
	}
	if _, err := d.Turns().Happens(t.Context(), oc, convo.Reads{Turn: c.Turn.ID, Prompts: []string{"prompt-om_2"}}); err != nil {
		t.Fatal(err)
	}
	if list, err := d.Turns().PromptIDs(t.Context(), c.Turn); err != nil || len(list) != 3 ||
		list[0] != "prompt-om_2" {
		t.Errorf("%v, %v", list, err)
	}
	end := db.TurnResult{Turn: c.Turn, State: convo.Failed, SteersRead: []string{"prompt-om_3"}}
	if err := d.Turns().Finish(t.Context(), end); err != nil {
		t.Fatal(err)
	}
	if a := steered(t, d, "om_5", c.Turn.ID); a.Steered || a.Turn == c.Turn.ID || a.Turn == 0 {
		t.Errorf("after the turn: %+v", a)
	}
	next := claim(t, d, "s-2")
	if n := len(next.Asked); n != 2 || next.Asked[0].ID != "om_4" || next.Asked[1].ID != "om_5" ||
		next.Turn.ReplyTo != "om_5" {
		t.Errorf("next: %+v", next)
	}
	prompts, err := d.Turns().Prompts(t.Context(), oc, c.Turn.ID)
	if err != nil || len(prompts) != 4 {
		t.Errorf("the session may hold %v, %v", prompts, err)
	}
}

// A turn that is stopped drops its unread messages, one that is requeued asks them, and one of an ended conversation
// gets none.
func TestUnreadMessagesOfATurn(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_1", "question"))
	c := claim(t, d, "s-3")
	steered(t, d, "om_2", c.Turn.ID)
	if err := d.Turns().Requeue(t.Context(), c.Turn, db.Session{}); err != nil {
		t.Fatal(err)
	}
	if c = claim(t, d, "s-4"); len(c.Asked) != 2 {
		t.Errorf("%d messages are asked", len(c.Asked))
	}
	if list, err := d.Turns().PromptIDs(t.Context(), c.Turn); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	steered(t, d, "om_3", c.Turn.ID)
	e := say("om_4", "/new")
	e.Class, e.Effects = chat.Command, []db.Effect{db.StartConversation{}}
	accept(t, d, e)
	if a := steered(t, d, "om_5", c.Turn.ID); a.Steered {
		t.Errorf("in another conversation: %+v", a)
	}
	if err := d.Turns().Finish(t.Context(), db.TurnResult{Turn: c.Turn, State: convo.Cancelled}); err != nil {
		t.Fatal(err)
	}
	if next := claim(t, d, "s-5"); len(next.Asked) != 1 || next.Asked[0].ID != "om_5" {
		t.Errorf("next: %+v", next.Asked)
	}
}

// An interrupted turn keeps its unread messages for the turn that continues it. A dropped one loses them.
func TestUnreadMessagesOfAnInterruptedTurn(t *testing.T) {
	for _, goOn := range []bool{true, false} {
		d := fresh(t)
		accept(t, d, say("om_1", "question"))
		c := claim(t, d, "s-1")
		steered(t, d, "om_2", c.Turn.ID)
		steered(t, d, "om_3", c.Turn.ID)
		if _, err := d.Turns().Happens(t.Context(), oc, convo.Reads{Turn: c.Turn.ID, Prompts: []string{"prompt-om_2"}}); err != nil {
			t.Fatal(err)
		}
		if err := d.Turns().Finish(t.Context(), db.TurnResult{Turn: c.Turn, State: convo.Interrupted}); err != nil {
			t.Fatal(err)
		}
		if c, err := d.Turns().Of(t.Context(), oc); err != nil || len(c.In(convo.Queued)) != 0 {
			t.Errorf("turns %v wait, %v", c.Turns, err)
		}
		decision := db.Decision{Key: oc, Turn: c.Turn.ID, Event: "press", GoOn: goOn,
			ContinueMessage: chat.Message{Text: "go on", Time: time.UnixMilli(9000)}}
		if err := d.Turns().Decide(t.Context(), decision); err != nil {
			t.Fatal(err)
		}
		if list, err := d.Turns().PromptIDs(t.Context(), c.Turn); err != nil || len(list) != 0 {
			t.Errorf("%v, %v", list, err)
		}
		if !goOn {
			continue
		}
		if next := claim(t, d, "s-2"); len(next.Asked) != 2 || next.Asked[0].ID != "om_3" ||
			next.Turn.Continues != c.Turn.ID {
			t.Errorf("next: %+v", next)
		}
	}
}

// When a message that was handed to a turn is recalled, the others are still answered.
func TestARecalledAdditionTakesNoOtherWithIt(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_1", "question"))
	c := claim(t, d, "s-1")
	if _, err := d.Turns().Happens(t.Context(), oc, convo.Acts{Turn: c.Turn.ID, Acted: true}); err != nil {
		t.Fatal(err)
	}
	steered(t, d, "om_2", c.Turn.ID)
	steered(t, d, "om_3", c.Turn.ID)
	if _, err := d.Messages().Recall(t.Context(), oc, "om_3", chat.Card{}); err != nil {
		t.Fatal(err)
	}
	if err := d.Turns().Finish(t.Context(), db.TurnResult{Turn: c.Turn, State: convo.Cancelled}); err != nil {
		t.Fatal(err)
	}
	if next := claim(t, d, "s-2"); len(next.Asked) != 1 || next.Asked[0].ID != "om_2" {
		t.Errorf("next: %+v", next.Asked)
	}
}
