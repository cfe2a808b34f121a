package bridge

import (
	"fmt"
	"testing"
	"time"

	"magpie/internal/chat"
)

// A question that was recalled while it waited, or whose chat the bot has left, is not remembered forever.
func TestQuestionsThatNobodyAnswersAreForgotten(t *testing.T) {
	t.Parallel()
	w := testWorld(t)
	left := func() (list []chat.Ref) { // the questions that are remembered
		w.bridge.queues.reactions.Forget(func(to chat.Ref) bool { list = append(list, to); return false })
		return list
	}
	asked := func(p place, text string) string {
		w.receive(p, text, true)
		return fmt.Sprintf("om_%d", w.said)
	}
	first, second := asked(team, "one"), asked(team, "two")
	w.must(w.bridge.HandleRecall(w.ctx, team.key, first))
	if got := left(); len(got) != 1 || got[0] != (chat.Ref{Key: team.key, ID: second}) {
		t.Errorf("after one was taken back: %v", got)
	}
	asked(alice, "three")
	w.must(w.bridge.HandleMembership(w.ctx, chat.Change{
		Key: team.key, Kind: chat.Group, Did: chat.Removed, Time: time.Now(),
	}))
	if got := left(); len(got) != 1 || got[0].Key != alice.key {
		t.Errorf("after the bot has left: %v", got)
	}
}
