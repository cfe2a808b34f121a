package bridge

import (
	"testing"

	"github.com/google/uuid"

	"magpie/db"
	"magpie/internal/chat"
)

// Questions of two people are answered together. What one of them wants to be known of himself is not the other's.
func TestWhatOneAsksToRememberIsNotTheOthers(t *testing.T) {
	w := newWorld(t, t.TempDir())
	key := chat.FeishuChat("oc_g")
	ann, bob := place{key, chat.Group, "ou_ann"}, place{key, chat.Group, "ou_bob"}
	w.hear(ann, "remember, for me only: I am allergic to nuts", true)
	w.hear(bob, "what time is it?", true)
	c, err := w.store.ClaimTurn(w.ctx, key, db.Names{Session: uuid.NewString(), Prompt: uuid.NewString()}, true)
	w.must(err)
	defer w.bridge.desk.attend(c, "/srv/one")()
	w.tool(w.bridge.desk.remember(w.ctx, key, toRemember{Title: "nuts", Text: "allergic to nuts", Scope: "user"}))
	list, err := w.store.Memories(w.ctx, key)
	w.must(err)
	for _, m := range list {
		if m.Scope == db.UserScope && m.Of == "ou_bob" {
			t.Errorf("%q is now Bob's", m.Text)
		}
	}
}

// A name must not pass for the agent.
func TestNobodyIsCalledYou(t *testing.T) {
	said := chat.Message{Role: chat.User, Actor: chat.Actor{Name: "you"}}
	if got := who(said); got == who(chat.Message{Role: chat.Assistant}) {
		t.Errorf("a user's words are shown as those of %q", got)
	}
}
