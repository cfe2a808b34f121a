package bridge

import (
	"context"
	"fmt"
	"testing"
	"time"

	"magpie/bridge/turncard"
	"magpie/internal/chat"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

// A question that was recalled while it waited, or whose chat the bot has left, is not remembered forever.
func TestQuestionsThatNobodyAnswersAreForgotten(t *testing.T) {
	t.Parallel()
	w := testWorld(t)
	left := func() (list []chat.Ref) { // the questions that are remembered
		w.reactions().Forget(func(to chat.Ref) bool { list = append(list, to); return false })
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

// An interrupted turn is not being answered, and neither is anything that belongs to it: all questions of a turn that a
// dead process has left, and what a stopped program's agent has not read.
func TestNothingOfAnInterruptedTurnLooksAnswered(t *testing.T) {
	t.Parallel()
	ends := map[string]func(l *bridgeRig){
		"killed": func(l *bridgeRig) {
			l.say("om_1", "one")
			l.abandonedTurn("om_2", "two")
			l.sql(`UPDATE turns SET acted = 1`)
			l.start()
		},
		"stopped": func(l *bridgeRig) {
			begun := make(chan struct{})
			l.answerWith(func(ctx context.Context, _ *turn) turncard.Outcome {
				close(begun)
				<-ctx.Done()
				return turncard.Outcome{State: convo.Interrupted, Notice: i18n.Interrupted}
			})
			l.start()
			l.must(l.awaitRecovery(t.Context()))
			l.say("om_1", "one")
			<-begun
			l.say("om_2", "also: two")
			l.stop()
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newRig(t)
			end(l)
			l.ended(convo.Interrupted, 1)
			for _, id := range []string{"om_1", "om_2"} {
				l.until("the last reaction to "+id, func() bool { return l.rec.Reaction(id) == chat.NoReaction })
			}
		})
	}
}
