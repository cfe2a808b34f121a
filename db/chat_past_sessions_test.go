package db_test

import (
	"errors"
	"testing"
	"time"

	"magpie/db"
	"magpie/internal/chat"
)

// turn makes a session answer a question.
func turn(t *testing.T, d *db.DB, message, question, session string) db.Claim {
	t.Helper()
	accept(t, d, say(message, question))
	c := claim(t, d, session)
	finish(t, d, db.TurnResult{Turn: c.Turn, Answer: "answer to " + question,
		Session: db.Session{ID: c.Turn.Session, Node: "a", Cwd: "/a", Tokens: 7}})
	return c
}

// startOver starts a new conversation.
func startOver(t *testing.T, d *db.DB, message string) {
	t.Helper()
	e := say(message, "/new")
	e.Class, e.Effects = chat.Command, []db.Effect{db.StartConversation{}}
	accept(t, d, e)
}

func sayResume(message, session string) db.Inbound {
	e := say(message, "/resume")
	e.Class, e.Effects = chat.Command, []db.Effect{db.ResumeSession{Session: db.Session{ID: session, Node: "b",
		Cwd: "/b"}}}
	return e
}

func TestPastSessions(t *testing.T) {
	d, began := fresh(t), time.Now().Truncate(time.Millisecond)
	turn(t, d, "om_1", "one", "s-1")
	last := turn(t, d, "om_2", "two", "unused")
	startOver(t, d, "om_3")
	turn(t, d, "om_4", "three", "s-2")
	accept(t, d, say("om_5", "four"))
	claim(t, d, "unused") // still running
	other := say("om_6", "elsewhere")
	other.Key = chat.FeishuChat("oc_other")
	accept(t, d, other)

	list, err := d.Chats().PastSessions(t.Context(), oc, 10)
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v %v", list, err)
	}
	if s := list[0]; s.ID != "s-2" || s.Question != "three" || s.Turns != 1 || s.Epoch != 1 {
		t.Errorf("the newest: %+v", s)
	}
	if s := list[1]; s.ID != "s-1" || s.Question != "one" || s.Turns != 2 || s.Turn != last.Turn.ID || s.Epoch != 0 ||
		s.Began.Before(began) || s.Ended.Before(s.Began) {
		t.Errorf("the previous one: %+v", s)
	}
	if list, err = d.Chats().PastSessions(t.Context(), oc, 1); err != nil || len(list) != 1 || list[0].ID != "s-2" {
		t.Errorf("one at most: %+v %v", list, err)
	}
	if list, err = d.Chats().PastSessions(t.Context(), other.Key, 10); err != nil || len(list) != 0 {
		t.Errorf("of another chat: %+v %v", list, err)
	}
}

// A conversation that ended with /new can be resumed, with its session and its History. The conversation that /new
// began ends.
func TestGoingBackToAnEarlierConversation(t *testing.T) {
	d := fresh(t)
	turn(t, d, "om_1", "one", "s-1")
	two := turn(t, d, "om_2", "two", "unused")
	startOver(t, d, "om_3")
	turn(t, d, "om_4", "three", "s-2")
	accept(t, d, sayResume("om_5", "s-1"))

	c, err := d.Chats().Get(t.Context(), oc)
	want := db.Session{ID: "s-1", Node: "b", Cwd: "/b", Turn: two.Turn.ID}
	if err != nil || c.Epoch != 2 || c.Session != want {
		t.Fatalf("%+v %v", c, err)
	}
	if got := history(t, d, c.Epoch, 100); got != "a:answer to two u:two a:answer to one u:one" {
		t.Errorf("history %q", got)
	}
	next := turn(t, d, "om_6", "five", "s-3")
	if next.Turn.Session != "s-1" || !next.Resume || next.Turn.Epoch != 2 {
		t.Errorf("the next turn: %+v", next.Turn)
	}
	if got := history(t, d, 1, 100); got != "a:answer to three u:three" {
		t.Errorf("the conversation that ended: %q", got)
	}
	startOver(t, d, "om_7")
	accept(t, d, sayResume("om_8", "s-2"))
	if c, err = d.Chats().Get(t.Context(), oc); err != nil || c.Epoch != 4 || c.Session.ID != "s-2" {
		t.Errorf("forth again: %+v %v", c, err)
	}
	if got := history(t, d, 4, 100); got != "a:answer to three u:three" {
		t.Errorf("history %q", got)
	}
}

// Another session of the current conversation replaces the present one. The History does not change.
func TestGoingBackWithinAConversation(t *testing.T) {
	d := fresh(t)
	one := turn(t, d, "om_1", "one", "s-1")
	if err := d.Chats().ForgetSession(t.Context(), oc, "s-1"); err != nil {
		t.Fatal(err)
	}
	turn(t, d, "om_2", "two", "s-2")
	accept(t, d, sayResume("om_3", "s-1"))
	c, err := d.Chats().Get(t.Context(), oc)
	if err != nil || c.Epoch != 0 || c.Session.ID != "s-1" || c.Session.Turn != one.Turn.ID || c.Session.Tokens != 0 {
		t.Errorf("%+v %v", c, err)
	}
	if got := history(t, d, 0, 100); got != "a:answer to two u:two a:answer to one u:one" {
		t.Errorf("history %q", got)
	}
}

func TestNobodyGoesBackToTheSessionOfAnotherChat(t *testing.T) {
	d := fresh(t)
	turn(t, d, "om_1", "one", "s-1")
	for _, session := range []string{"s-1", "", "s-unknown"} {
		e := sayResume("om_2", session)
		e.Key = chat.FeishuChat("oc_other")
		if _, err := d.Messages().Accept(t.Context(), e); !errors.Is(err, db.ErrNotFound) {
			t.Errorf("%q: %v", session, err)
		}
	}
	if list, err := d.Chats().PastSessions(t.Context(), oc, 10); err != nil || len(list) != 1 {
		t.Errorf("%+v %v", list, err)
	}
}

func TestATitleThatPeopleGive(t *testing.T) {
	d := fresh(t)
	for i, topic := range []string{"ours", "", "theirs"} {
		e := say("om_"+topic, "/title")
		e.Class = chat.Command
		if topic != "" { // without a topic the call only reads the title
			e.Effects = []db.Effect{db.SetTitle{Title: topic}}
		}
		accept(t, d, e)
		want := []string{"ours", "ours", "theirs"}[i]
		if c, err := d.Chats().Get(t.Context(), oc); err != nil || c.Topic != want {
			t.Errorf("%q: %q %v", topic, c.Topic, err)
		}
	}
}

// A card without a turn is delivered like a text, and its text is in the History.
func TestACardWithoutATurn(t *testing.T) {
	d := fresh(t)
	card := chat.Card{Body: "**commands**", Buttons: []chat.Button{{Label: "New",
		Action: chat.Action{Do: "order", ID: "new"}}}}
	e := say("om_1", "/help")
	e.Class, e.Card, e.ReplyTo = chat.Command, &card, "om_0"
	accept(t, d, e)
	if err := d.Outbox().Enqueue(t.Context(), db.Post{Key: oc, Idem: "later", ReplyTo: "om_1", Text: "done"}); err != nil {
		t.Fatal(err)
	}
	p, err := d.Outbox().Next(t.Context(), oc)
	if err != nil || p.Turn != 0 || p.Card == nil || p.Card.Body != card.Body || p.Card.Buttons[0] != card.Buttons[0] ||
		p.ReplyTo != "om_0" || p.Text != "" {
		t.Fatalf("%+v %v", p, err)
	}
	if err := d.Outbox().MarkDelivered(t.Context(), p, "om_shown"); err != nil {
		t.Fatal(err)
	}
	list, err := d.Messages().ByID(t.Context(), oc, []string{"om_shown"})
	if err != nil || len(list) != 1 || list[0].Text != card.Body || list[0].Class != chat.Command ||
		list[0].Role != chat.Assistant {
		t.Errorf("%+v %v", list, err)
	}
	if p, err = d.Outbox().Next(t.Context(), oc); err != nil || p.Text != "done" || p.Card != nil {
		t.Errorf("then %+v %v", p, err)
	}
}
