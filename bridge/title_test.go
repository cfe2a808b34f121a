package bridge

import (
	"fmt"
	"testing"

	"magpie/db"
	"magpie/internal/chat"
)

// Without a title from the agent, the conversation is named after its first question, not after the one of the turn in
// which that was tried.
func TestATitleIsMadeOfTheFirstQuestion(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.untitled()
	l.start()
	for i, text := range []string{"of before", "/new", "when do herons fly?", "and where?"} {
		l.say(fmt.Sprintf("om_%d", i), text)
		l.turnsOver()
	}
	l.sql(`UPDATE ledger SET tokens = 1000`)
	l.bridge.SetBudget(Budget{ChatDayTokens: 1}) // so the agent is not asked
	l.maintenance().makeTitle(t.Context(), endedTurn{
		Turn: db.Turn{Key: room, Epoch: 1}, asked: []chat.Message{{Text: "and where?"}}, answer: "at the lake",
	})
	if got := l.chat().Topic; got != "when do herons fly?" {
		t.Errorf("title %q", got)
	}
}
