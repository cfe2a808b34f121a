package bridge

import (
	"testing"

	"magpie/internal/chat"
)

// A name must not pass for the agent.
func TestNobodyIsCalledYou(t *testing.T) {
	said := chat.Message{Role: chat.User, Actor: chat.Actor{Name: "you"}}
	if got := who(said); got == who(chat.Message{Role: chat.Assistant}) {
		t.Errorf("a user's words are shown as those of %q", got)
	}
}
