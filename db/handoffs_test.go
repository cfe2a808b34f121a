package db_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"magpie/db"
	"magpie/db/handoffs"
	"magpie/internal/chat"
	"magpie/internal/convo"
)

// typed is a turn of a terminal, and its question.
func typed(l handoffs.Lease, id, text string) ([]chat.Message, []db.TurnResult) {
	q := chat.Message{Key: l.Key, ID: "typed-" + id, Role: chat.User, Class: chat.Talk, Text: text, Time: time.Now()}
	return []chat.Message{q}, []db.TurnResult{{
		Turn: db.Turn{Key: l.Key, Epoch: l.Epoch, Session: l.Session, Prompt: id}, State: convo.Done, Answer: "answer of " + text,
		Session: db.Session{ID: l.Session, Node: l.Node, Cwd: l.Cwd}, Usage: &db.Usage{Input: 7},
		Actions: []db.RecordedAction{{Action: db.Action{Use: "tool-" + id, Tool: "Bash"}, Time: time.Now()}},
	}}
}

// While a chat is in a terminal, what is typed there becomes turns of its session, once; the question that waits is asked
// after its end, in the same session.
func TestTurnsOfATerminalJoinTheHistory(t *testing.T) {
	d := fresh(t)
	rows := d.Handoffs()
	accept(t, d, say("om_1", "one"))
	first := claim(t, d, "s-1")
	l := handoffs.Lease{Key: oc, Node: "here", Session: "s-1", Cwd: "/work", Pid: 12, Started: "34"}
	if _, err := rows.Take(t.Context(), l); !errors.Is(err, handoffs.ErrBusy) {
		t.Errorf("while a turn runs: %v", err)
	}
	finish(t, d, db.TurnResult{Turn: first.Turn, State: convo.Done, Session: db.Session{ID: "s-1", Node: "here", Cwd: "/work"}})
	taken, err := rows.Take(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	if other, err := rows.Take(t.Context(), handoffs.Lease{Key: oc, Node: "here", Session: "s-2", Pid: 56, Started: "78"}); !errors.Is(err, handoffs.ErrTaken) || other.Pid != 12 {
		t.Errorf("a second terminal: %+v, %v", other, err)
	}
	accept(t, d, say("om_2", "two"))
	waits := claim(t, d, "s-3")
	if err := d.Turns().Postpone(t.Context(), waits.Turn, taken.Since.AddDate(100, 0, 0), chat.Card{}); err != nil {
		t.Fatal(err)
	}
	for round := range 2 { // also after a crash
		for _, id := range []string{"a", "b"} {
			asked, turns := typed(l, id, "typed "+id)
			added, err := rows.Import(t.Context(), asked, turns, true)
			if err != nil || added != 1-round {
				t.Fatalf("%s, round %d: %d added, %v", id, round, added, err)
			}
		}
	}
	if _, err := d.Turns().Claim(t.Context(), oc, db.Start{Session: "s-4", Prompt: "p-4", Resume: true}); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("the question does not wait: %v", err)
	}
	if known, err := rows.Prompts(t.Context(), l); err != nil || len(known) < 3 {
		t.Errorf("prompts %q, %v", known, err)
	}
	if ended, err := rows.End(t.Context(), taken); err != nil || !ended {
		t.Fatal(err)
	}
	again, err := d.Turns().Claim(t.Context(), oc, db.Start{Session: "s-5", Prompt: "p-5", Resume: true})
	if err != nil || again.Turn.ID != waits.Turn.ID || !again.Resume || again.Turn.Session != "s-1" {
		t.Errorf("afterwards %+v, %v", again.Turn, err)
	}
	var said []string
	list, err := d.Messages().Latest(t.Context(), oc, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		if m.Class == chat.Talk {
			said = append(said, m.Text)
		}
	}
	want := []string{"one", "two", "typed a", "answer of typed a", "typed b", "answer of typed b"}
	if len(said) != len(want) {
		t.Errorf("said %q, want %q", said, want)
	}
	if _, held, err := rows.Of(t.Context(), oc); err != nil || held {
		t.Errorf("still in a terminal: %v", err)
	}
	finish(t, d, db.TurnResult{Turn: again.Turn, State: convo.Done})
}

// A session that a recall has given up while it is in a terminal is not resumed, whatever is said there afterwards.
func TestARecallDuringAHandoffStands(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_1", "one"))
	s := db.Session{ID: "s-1", Node: "here", Cwd: "/work"}
	finish(t, d, db.TurnResult{Turn: claim(t, d, s.ID).Turn, State: convo.Done, Session: s})
	l := handoffs.Lease{Key: oc, Node: "here", Session: s.ID, Cwd: s.Cwd}
	recall(t, d, "om_1")
	asked, turns := typed(l, "a", "typed a")
	if added, err := d.Handoffs().Import(t.Context(), asked, turns, true); err != nil || added != 1 {
		t.Fatalf("%d added, %v", added, err)
	}
	if c, err := d.Chats().Get(t.Context(), oc); err != nil || c.Session.ID != "" {
		t.Errorf("session %+v, %v", c.Session, err)
	}
	if first, err := d.Turns().FirstTurn(t.Context(), s.ID); err != nil || first != 0 {
		t.Errorf("the session begins with turn %d, %v", first, err)
	}
}

// A session that the chat has resumed after many turns of another one is still known.
func TestAnOldSessionHasPrompts(t *testing.T) {
	d := fresh(t)
	for i := range 202 {
		session := "s-new"
		if i == 0 {
			session = "s-old"
		}
		accept(t, d, say(fmt.Sprintf("om_%d", i), "question"))
		c, err := d.Turns().Claim(t.Context(), oc, db.Start{Session: session, Prompt: fmt.Sprintf("p-%d", i)})
		if err != nil {
			t.Fatal(err)
		}
		finish(t, d, db.TurnResult{Turn: c.Turn, State: convo.Done})
	}
	known, err := d.Handoffs().Prompts(t.Context(), handoffs.Lease{Key: oc, Session: "s-old"})
	if err != nil || !slices.Contains(known, "p-0") {
		t.Errorf("%d prompts, %v", len(known), err)
	}
	if known, err = d.Handoffs().Prompts(t.Context(), handoffs.Lease{Key: oc, Session: "s-begun"}); err != nil || len(known) > 0 {
		t.Errorf("prompts of a session that begins: %q, %v", known, err)
	}
}

// A lease without a terminal is that of the next one; one that is to be taken back is nobody's.
func TestALeaseWaitsForATerminal(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_1", "one"))
	finish(t, d, db.TurnResult{Turn: claim(t, d, "s-1").Turn, State: convo.Done})
	rows, free := d.Handoffs(), handoffs.Lease{Key: oc, Node: "here", Session: "s-1"}
	if _, err := rows.Take(t.Context(), free); err != nil {
		t.Fatal(err)
	}
	if _, err := rows.Take(t.Context(), free); !errors.Is(err, handoffs.ErrTaken) {
		t.Errorf("handed over twice: %v", err)
	}
	free.Pid, free.Started, free.Session = 12, "34", "s-2"
	if l, err := rows.Take(t.Context(), free); err != nil || l.Pid != 12 || l.Session != "s-2" {
		t.Fatalf("%+v, %v", l, err)
	}
	if l, held, err := rows.Of(t.Context(), oc); err != nil || !held || l.Session != "s-2" {
		t.Errorf("the terminal has another session than %+v, %v", l, err)
	}
	if err := rows.Recall(t.Context(), oc); err != nil {
		t.Fatal(err)
	}
	list, err := rows.On(t.Context(), "here")
	if err != nil || len(list) != 1 || !list[0].Recalled {
		t.Fatalf("%+v, %v", list, err)
	}
	if list, err := rows.On(t.Context(), ""); err != nil || len(list) != 1 {
		t.Errorf("of all machines: %+v, %v", list, err)
	}
	if ended, err := rows.End(t.Context(), handoffs.Lease{Key: oc, Since: time.Unix(1, 0)}); err != nil || ended { // another one's end
		t.Fatal(err)
	}
	if _, held, err := rows.Of(t.Context(), oc); err != nil || !held {
		t.Errorf("the lease has gone: %v", err)
	}
}
