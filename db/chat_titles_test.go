package db_test

import (
	"testing"

	"magpie/db"
	"magpie/internal/chat"
)

func topicOf(t *testing.T, d *db.DB) string {
	t.Helper()
	return chatOf(t, d).Topic
}

func setTopic(t *testing.T, d *db.DB, epoch int64, topic string) {
	t.Helper()
	if err := d.Chats().SetTopic(t.Context(), oc, epoch, topic, nil); err != nil {
		t.Fatal(err)
	}
}

// A title belongs to one conversation: the next one starts without, and does not get one that was made of the previous
// one.
func TestEachConversationHasItsOwnTitle(t *testing.T) {
	d := fresh(t)
	turn(t, d, "om_1", "one", "s-1")
	setTopic(t, d, 0, "the first")
	startOver(t, d, "om_2")
	setTopic(t, d, 0, "what was asked for before /new")
	if got := topicOf(t, d); got != "" {
		t.Fatalf("after /new the title is %q", got)
	}
	turn(t, d, "om_3", "two", "s-2")
	setTopic(t, d, 1, "the second")
	setTopic(t, d, 1, "once more")
	if got := topicOf(t, d); got != "the second" {
		t.Errorf("title %q", got)
	}

	accept(t, d, sayResume("om_4", "s-1"))
	if got := topicOf(t, d); got != "the first" {
		t.Errorf("the title of the resumed conversation is %q", got)
	}
	accept(t, d, sayResume("om_5", "s-2"))
	if got := topicOf(t, d); got != "the second" {
		t.Errorf("the title of the other one is %q", got)
	}
	accept(t, d, sayResume("om_6", "s-2"))
	if got := topicOf(t, d); got != "the second" {
		t.Errorf("resuming the current conversation changes the title to %q", got)
	}
}

// A title set by people stays until the next conversation begins.
func TestATitleOfPeopleEndsWithTheConversation(t *testing.T) {
	d := fresh(t)
	turn(t, d, "om_1", "one", "s-1")
	e := say("om_2", "/title")
	e.Class, e.Effects = chat.Command, []db.Effect{db.SetTitle{Title: "theirs"}}
	accept(t, d, e)
	setTopic(t, d, 0, "the agent's")
	if got := topicOf(t, d); got != "theirs" {
		t.Errorf("title %q", got)
	}
	startOver(t, d, "om_3")
	if got := topicOf(t, d); got != "" {
		t.Errorf("after /new the title is %q", got)
	}
}
