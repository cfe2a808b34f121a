package db_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/convo"
)

// A turn whose agent continues in the background leaves a follow-up. It waits; questions that arrive meanwhile are
// asked first and do not join it. Once started, it continues the questions of its turn in the same session, and their
// authors pay for it.
func TestATurnThatFollows(t *testing.T) {
	d := fresh(t)
	fs := d.Turns()
	accept(t, d, say("om_1", "go"))
	first := claim(t, d, "s-1")
	finish(t, d, db.TurnResult{Turn: first.Turn, State: convo.Done, Answer: "begun", WorksOn: true,
		Session: db.Session{ID: "s-1", Node: "here"}})
	f, err := fs.OpenFollowUp(t.Context(), oc)
	if err != nil || f.State != convo.Running || f.Follows != first.Turn.ID || f.ReplyTo != "om_1" {
		t.Fatalf("%+v, %v", f, err)
	}
	accept(t, d, say("om_2", "meanwhile"))
	second := claim(t, d, "s-2")
	if second.Turn.ID == f.ID || len(second.Asked) != 1 {
		t.Fatalf("asked meanwhile: %+v", second)
	}
	finish(t, d, db.TurnResult{Turn: second.Turn, State: convo.Done, Answer: "yes", WorksOn: true,
		Session: db.Session{ID: "s-1", Node: "here"}})
	if _, err := d.Turns().Happens(t.Context(), oc, convo.Wakes{Turn: f.ID}); err != nil {
		t.Fatal(err)
	}
	accept(t, d, say("om_3", "later"))
	c := claim(t, d, "s-3")
	if c.Turn.ID != f.ID || c.Turn.Session != "s-1" || !c.Resume || texts(c.Asked) != "u:go" {
		t.Fatalf("begun: %+v", c)
	}
	finish(t, d, db.TurnResult{Turn: c.Turn, State: convo.Done, Answer: "done", Usage: &db.Usage{Input: 7, CostUSD: 1},
		Session: db.Session{ID: "s-1", Node: "here"}})
	if now, err := d.Chats().Get(t.Context(), oc); err != nil || now.Session.Turn != second.Turn.ID {
		t.Errorf("the session holds the turns up to %d, %v", now.Session.Turn, err)
	}
	s, err := d.Access().Spent(t.Context(), first.Asked[0].Actor.ID, chat.Key{}, first.Turn.Created.AddDate(0, 0, -1))
	if err != nil || s.USD != 1 {
		t.Errorf("the askers pay %+v, %v", s, err)
	}
	if next := claim(t, d, "s-4"); texts(next.Asked) != "u:later" {
		t.Errorf("next: %q", texts(next.Asked))
	}
	if _, err := fs.OpenFollowUp(t.Context(), oc); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("there is another follow-up: %v", err)
	}
}

// A follow-up that is started too early waits again, and one that is not needed ends. A turn has at most one, which
// other chats do not see.
func TestAFollowUpThatIsNotBegun(t *testing.T) {
	d := fresh(t)
	fs := d.Turns()
	accept(t, d, say("om_1", "go"))
	first := claim(t, d, "s-1")
	made, err := fs.FollowUp(t.Context(), first.Turn) // while the turn runs
	if err != nil || texts(made.Asked) != "u:go" {
		t.Fatalf("%+v, %v", made, err)
	}
	finish(t, d, db.TurnResult{Turn: first.Turn, State: convo.Done, WorksOn: true})
	again, err := fs.FollowUp(t.Context(), first.Turn)
	if err != nil || again.Turn.ID != made.Turn.ID {
		t.Errorf("a second one: %+v, %v", again.Turn, err)
	}
	accept(t, d, say("om_2", "and this"))
	other := claim(t, d, "s-3")
	also, err := fs.FollowUp(t.Context(), other.Turn)
	if err != nil || also.Turn.ID != made.Turn.ID || also.Turn.ReplyTo != "om_2" || texts(also.Asked) != "u:and this" {
		t.Errorf("for another question: %+v, %v", also, err)
	}
	finish(t, d, db.TurnResult{Turn: other.Turn, State: convo.Done})
	if _, err := fs.OpenFollowUp(t.Context(), chat.FeishuChat("oc_other")); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("in another chat: %v", err)
	}
	for range 2 { // the second time there is nothing to claim
		if _, err := d.Turns().Happens(t.Context(), oc, convo.Wakes{Turn: made.Turn.ID}); err != nil {
			t.Fatal(err)
		}
	}
	c := claim(t, d, "s-2")
	if _, err := d.Turns().Happens(t.Context(), oc, convo.Sleeps{Turn: c.Turn.ID}); err != nil {
		t.Fatal(err)
	}
	if left, err := d.Turns().Running(t.Context()); err != nil || len(left) != 1 || left[0].ID != made.Turn.ID {
		t.Errorf("%v, %v", left, err)
	}
	if _, err := d.Turns().Happens(t.Context(), oc, convo.Sleeps{Turn: made.Turn.ID},
		convo.Vanishes{Turn: made.Turn.ID, Phase: convo.Done}); err != nil {
		t.Fatal(err)
	}
	if left, err := d.Turns().Running(t.Context()); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
	if _, err := d.Turns().Happens(t.Context(), oc, convo.Sleeps{Turn: first.Turn.ID},
		convo.Vanishes{Turn: first.Turn.ID, Phase: convo.Cancelled}); err != nil { // the turn is no follow-up
		t.Fatal(err)
	}
}

// Follow-ups that are queued when the program ends wait again after the next start. Those that were read are known by
// the prompt ids of their answers.
func TestFollowUpsAfterACrash(t *testing.T) {
	d := fresh(t)
	fs := d.Turns()
	accept(t, d, say("om_1", "go"))
	first := claim(t, d, "s-1")
	finish(t, d, db.TurnResult{Turn: first.Turn, State: convo.Done, WorksOn: true})
	f, err := fs.OpenFollowUp(t.Context(), oc)
	if err == nil {
		_, err = d.Turns().Happens(t.Context(), oc, convo.Wakes{Turn: f.ID})
	}
	if err != nil {
		t.Fatal(err)
	}
	if left, err := d.Turns().Left(t.Context()); err != nil || !slices.Equal(left, []chat.Key{oc}) {
		t.Errorf("left in %v, %v", left, err)
	}
	if _, err := d.Turns().Happens(t.Context(), oc, convo.Sleeps{Turn: f.ID}); err != nil {
		t.Fatal(err)
	}
	left, err := d.Turns().WithAgent(t.Context(), oc)
	if err != nil || len(left) != 1 || left[0].ID != f.ID {
		t.Fatalf("left: %+v, %v", left, err)
	}
	left[0].Prompt = "msg_1"
	finish(t, d, db.TurnResult{Turn: left[0], State: convo.Done})
	if ids, err := fs.PromptIDs(t.Context(), left[0]); err != nil || len(ids) != 1 || ids[0] != "msg_1" {
		t.Errorf("ids %q, %v", ids, err)
	}
}

// Who has asked decides about what an agent does for it, whoever continues it: also after an interrupted follow-up, and
// for a subagent in the background of a turn that continues another.
func TestWhoAskedDecidesAlsoAfterAFollowUp(t *testing.T) {
	d := fresh(t)
	f, c := continuesFollowUp(t, d)
	want := say("", "").Actor.ID
	if got, err := d.Access().EarlierAskers(t.Context(), oc, c.Turn.ID); err != nil || !slices.Contains(got, want) {
		t.Errorf("earlier askers of a turn that continues a follow-up: %q, %v", got, err)
	}
	made, err := d.Turns().FollowUp(t.Context(), c.Turn)
	asked := func(m chat.Message) bool { return m.Actor.ID == want }
	if err != nil || !slices.ContainsFunc(made.Asked, asked) || texts(made.Asked[len(made.Asked)-1:]) != "u:continue" {
		t.Errorf("a subagent works for %q, %v", texts(made.Asked), err)
	}
	raw(t, d, fmt.Sprintf(`DELETE FROM turns WHERE id = %d`, f.ID)) // as the sweep of the old History does
	made, err = d.Turns().FollowUp(t.Context(), c.Turn)
	if err != nil || texts(made.Asked) != "u:continue" {
		t.Errorf("without the earlier turn: %q, %v", texts(made.Asked), err)
	}
}
