package db_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/convo"
)

// onNode runs a complete turn on a machine, and returns its claim.
func onNode(t *testing.T, d *db.DB, node, message string) db.Claim {
	t.Helper()
	accept(t, d, say(message, "q"))
	n := startIn("s-" + message)
	n.Node = node
	c, err := d.Turns().Claim(t.Context(), oc, n)
	if err != nil {
		t.Fatal(err)
	}
	finish(t, d, db.TurnResult{Turn: c.Turn, Answer: "a",
		Session: db.Session{ID: c.Turn.Session, Node: node, Cwd: "/" + node}})
	return c
}

// Two machines that answer a chat in turns each continue with their own session.
func TestEachMachineHasASession(t *testing.T) {
	d := fresh(t)
	first := onNode(t, d, "a", "om_1")
	other := onNode(t, d, "b", "om_2")
	if other.Turn.Session != first.Turn.Session || other.Chat.Session.Node != "a" {
		t.Errorf("a machine without a session is offered %+v", other.Chat.Session)
	}
	accept(t, d, say("om_3", "q"))
	n := startIn("s-b")
	n.Node = "b"
	c, err := d.Turns().Claim(t.Context(), oc, n)
	if err != nil {
		t.Fatal(err)
	}
	finish(t, d, db.TurnResult{Turn: c.Turn, Answer: "a", Session: db.Session{ID: "s-b", Node: "b", Cwd: "/b"}})

	back := onNode(t, d, "a", "om_4")
	want := db.Session{ID: first.Turn.Session, Node: "a", Cwd: "/a", Turn: first.Turn.ID}
	if diff := cmp.Diff(want, back.Chat.Session); diff != "" || !back.Resume || back.Turn.Session != want.ID {
		t.Errorf("back on the first machine: %+v\n%s", back.Turn, diff)
	}
	if got := onNode(t, d, "b", "om_5").Chat.Session; got.ID != "s-b" || got.Turn != c.Turn.ID {
		t.Errorf("back on the second machine: %+v", got)
	}
	if got := onNode(t, d, "b", "om_6").Chat.Session; got.ID != "s-b" || got.Turn <= c.Turn.ID {
		t.Errorf("once more on the second machine: %+v", got)
	}
}

// machines is a chat that machine a answered first, then b.
func machines(t *testing.T) *db.DB {
	t.Helper()
	d := fresh(t)
	onNode(t, d, "a", "om_1")
	accept(t, d, say("om_2", "q"))
	c := claim(t, d, "s-b")
	finish(t, d, db.TurnResult{Turn: c.Turn, Answer: "a", Session: db.Session{ID: "s-b", Node: "b"}})
	return d
}

func TestASessionThatWasSetAsideCanBeForgotten(t *testing.T) {
	d := machines(t)
	if err := d.Chats().ForgetSession(t.Context(), oc, "s-om_1"); err != nil {
		t.Fatal(err)
	}
	if got := onNode(t, d, "a", "om_3").Chat.Session; got.ID != "s-b" || got.Node != "b" {
		t.Errorf("%+v", got)
	}
}

func TestNoMachineGoesOnFromBeforeNew(t *testing.T) {
	d := machines(t)
	restart := say("om_3", "/new")
	restart.Class, restart.Effects = chat.Command, []db.Effect{db.StartConversation{}}
	accept(t, d, restart)
	if got := onNode(t, d, "a", "om_4"); got.Resume || got.Turn.Session != "s-om_4" {
		t.Errorf("after /new: %+v", got.Turn)
	}
	accept(t, d, say("om_5", "q"))
	b := claim(t, d, "s-b2") // without a machine: it gets any session
	finish(t, d, db.TurnResult{Turn: b.Turn, Answer: "a", Session: db.Session{ID: "s-b2", Node: "b"}})
	if got := onNode(t, d, "a", "om_6"); got.Turn.Session != "s-om_4" {
		t.Errorf("the session from before /new came back: %+v", got.Turn)
	}
}

// A question may occur in a session under each of its prompt ids.
func TestAllNamesOfAQuestionAreKnown(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_1", "q1"))
	first := claim(t, d, "1").Turn
	finish(t, d, db.TurnResult{Turn: first, Answer: "a1"})
	accept(t, d, say("om_2", "q2"))
	second := claim(t, d, "2").Turn
	if err := d.Turns().SetIDs(t.Context(), second, "2", "p-2b"); err != nil {
		t.Fatal(err)
	}
	if err := d.Turns().Requeue(t.Context(), second, db.Session{}); err != nil {
		t.Fatal(err)
	}
	claim(t, d, "2c")
	got, err := d.Turns().Prompts(t.Context(), oc, second.ID)
	if err != nil {
		t.Fatal(err)
	}
	want := []db.Prompt{{ID: "p-2c", Turn: second.ID}, {ID: "p-2", Turn: second.ID}, {ID: "p-2b", Turn: second.ID},
		{ID: "p-1", Turn: first.ID}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got, err := d.Turns().Prompts(t.Context(), oc, first.ID); err != nil || len(got) != 1 {
		t.Errorf("up to the first: %v, %v", got, err)
	}
	if got, err := d.Turns().Prompts(t.Context(), chat.FeishuChat("oc_2"), second.ID); err != nil || len(got) != 0 {
		t.Errorf("another chat: %v, %v", got, err)
	}
}

func TestComparedPromptsAreLimited(t *testing.T) {
	d := fresh(t)
	var last int64
	for i := range 205 {
		accept(t, d, say(fmt.Sprintf("om_%d", i), "q"))
		c := claim(t, d, fmt.Sprint(i))
		finish(t, d, db.TurnResult{Turn: c.Turn, Answer: "a"})
		last = c.Turn.ID
	}
	if got, err := d.Turns().Prompts(t.Context(), oc, last); err != nil || len(got) != 200 || got[0].ID != "p-204" {
		t.Errorf("%d, %v", len(got), err)
	}
}

func TestTheLastContextReportIsKept(t *testing.T) {
	d := fresh(t)
	if _, err := d.Turns().LastReport(t.Context(), oc, 0); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("before the first turn: %v", err)
	}
	want := db.ContextReport{Session: "begun", Lost: "transcript missing", Messages: 12, Unread: true}
	accept(t, d, say("om_1", "q1"))
	finish(t, d, db.TurnResult{Turn: claim(t, d, "s").Turn, Answer: "a", Report: &want})
	accept(t, d, say("om_2", "q2"))
	finish(t, d, db.TurnResult{Turn: claim(t, d, "s").Turn, State: convo.Cancelled}) // before a prompt was sent
	got, err := d.Turns().LastReport(t.Context(), oc, 0)
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := d.Turns().LastReport(t.Context(), oc, 1); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("after /new: %v", err)
	}
}

// The sessions whose transcripts must be kept: those of chats, of other machines, and of turns that have not ended.
func TestSessionsInUse(t *testing.T) {
	d := fresh(t)
	answered(t, d, "om_1", "one", "a1")
	accept(t, d, say("om_2", "two"))
	second := claim(t, d, "s-2")
	got, err := d.Chats().SessionsInUse(t.Context())
	if err != nil || !slices.Equal(got, []string{"s-om_1"}) { // the second turn goes on in it
		t.Errorf("while a turn runs: %q, %v", got, err)
	}
	finish(t, d, db.TurnResult{Turn: second.Turn, Session: db.Session{ID: second.Turn.Session}})
	if err := d.Chats().ForgetSession(t.Context(), oc, "s-om_1"); err != nil {
		t.Fatal(err)
	}
	if got, err := d.Chats().SessionsInUse(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("without a session: %q, %v", got, err)
	}
	accept(t, d, say("om_3", "three"))
	claim(t, d, "s-3")
	if got, err := d.Chats().SessionsInUse(t.Context()); err != nil || !slices.Equal(got, []string{"s-3"}) {
		t.Errorf("in a new session: %q, %v", got, err)
	}
}
