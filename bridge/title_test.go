package bridge

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"magpie/bridge/budget"
	"magpie/bridge/upkeep"
	"magpie/db"
	"magpie/db/dbtest"
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
	l.bridge.SetBudget(budget.Limits{ChatDayTokens: 1}) // so the agent is not asked
	l.upkeep().MakeTitle(t.Context(), upkeep.Ended{
		Turn: db.Turn{Key: room, Epoch: 1}, Asked: []chat.Message{{ID: "om_3"}}, Answer: "at the lake",
	})
	if got := l.chat().Topic; got != "when do herons fly?" {
		t.Errorf("title %q", got)
	}
}

// The end of the program, which can come before a title is begun, is no failure.
func TestNoTitleIsMadeAtTheEnd(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.untitled()
	l.start()
	l.say("om_1", "when do herons fly?")
	l.turnsOver()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l.upkeep().MakeTitle(ctx, upkeep.Ended{
		Turn:  db.Turn{Key: room, ID: int64(l.count(`SELECT id FROM turns`))},
		Asked: []chat.Message{{ID: "om_1", Text: "when do herons fly?"}}, Answer: "at dawn",
	})
	if got := l.logs.String(); strings.Contains(got, `"level":"error"`) || l.chat().Topic != "" {
		t.Errorf("title %q", l.chat().Topic)
	}
}

// Nothing is made a title of that was taken back before, or while the title was made.
func TestNoTitleIsMadeOfARecalledQuestion(t *testing.T) {
	t.Parallel()
	for name, recall := range map[string]func(l *bridgeRig){
		"before": func(l *bridgeRig) {
			l.must(l.bridge.HandleRecall(l.Context(), room, "om_1"))
			l.sql(`UPDATE ledger SET tokens = 1000`)
			l.bridge.SetBudget(budget.Limits{ChatDayTokens: 1}) // so the agent is not asked
		},
		"meanwhile": func(l *bridgeRig) {
			l.sql(dbtest.Trigger{Name: "meanwhile", On: "AFTER INSERT ON ledger",
				Does: "UPDATE messages SET state = 'recalled' WHERE message_id = 'om_1'"}.Create())
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newRig(t)
			l.untitled()
			l.start()
			l.say("om_1", "when do herons fly?")
			l.turnsOver()
			recall(l)
			l.upkeep().MakeTitle(t.Context(), upkeep.Ended{
				Turn:  db.Turn{Key: room, ID: int64(l.count(`SELECT id FROM turns`))},
				Asked: []chat.Message{{ID: "om_1", Text: "when do herons fly?"}}, Answer: "at dawn",
			})
			if got := l.chat().Topic; got != "" {
				t.Errorf("title %q", got)
			}
		})
	}
}
