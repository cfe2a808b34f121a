package db_test

import (
	"errors"
	"testing"

	"magpie/db"
	"magpie/internal/chat"
)

// The effects of a message are applied in order, all or none, together with the message.
func TestEffectsOfAMessage(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_1", "hello"))
	title := func() string {
		t.Helper()
		c, err := d.Chats().Get(t.Context(), oc)
		if err != nil {
			t.Fatal(err)
		}
		return c.Topic
	}
	e := say("om_2", "/title")
	e.Class, e.Effects = chat.Command, []db.Effect{db.SetTitle{Title: "first"}, db.SetTitle{Title: "second"}}
	accept(t, d, e)
	if got := title(); got != "second" {
		t.Errorf("in the wrong order: %q", got)
	}
	e.ID = "om_3"
	e.Effects = []db.Effect{db.SetTitle{Title: "third"}, db.ResumeSession{Session: db.Session{ID: "of nobody"}}}
	if _, err := d.Messages().Accept(t.Context(), e); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("a session that the chat never had: %v", err)
	}
	known, err := d.Messages().Known(t.Context(), oc, "om_3")
	if got := title(); got != "second" || known || err != nil {
		t.Errorf("an effect failed: the title is %q, the message known %v, %v", got, known, err)
	}
	e.ID, e.Effects = "om_4", []db.Effect{db.StartConversation{}, db.SetTitle{Title: "of the new one"}}
	accept(t, d, e)
	if got := title(); got != "of the new one" {
		t.Errorf("the title of a new conversation: %q", got)
	}
}
