package bridge

import (
	"sync"
	"testing"

	"github.com/google/uuid"

	"magpie/bridge/approval"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/convo"
)

// What goes on in the background is ended at once, also while there is no place for another turn, and if the agent has
// begun to tell about it.
func TestWhatGoesOnEndsWithoutAPlace(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*bridgeRig) error{
		"stopped":            func(l *bridgeRig) error { return l.bridge.HandleMessage(t.Context(), incoming("om_2", "/stop")) },
		"a bare word":        func(l *bridgeRig) error { return l.bridge.HandleMessage(t.Context(), incoming("om_2", "停")) },
		"a new conversation": func(l *bridgeRig) error { return l.bridge.HandleMessage(t.Context(), incoming("om_2", "/new")) },
		"a group that is left": func(l *bridgeRig) error {
			return l.bridge.HandleMembership(t.Context(), changed(chat.Removed, 2000))
		},
		"recalled": func(l *bridgeRig) error { return l.bridge.HandleRecall(t.Context(), room, "om_1") },
	} {
		for _, state := range []convo.Phase{convo.Running, convo.Queued} {
			l := newRig(t)
			l.start()
			l.say("om_1", "你好")
			l.until("an idle process", func() bool {
				_, running := l.working() // the end of a turn drops a follow-up that is not expected
				return l.count(`SELECT COUNT(*) FROM turns WHERE state = 'done'`) == 1 && l.pool.Stats().Idle == 1 && running == 0
			})
			l.sql(`INSERT INTO turns (chat_key, epoch, state, session_id, reply_to, created_at, follows)
				SELECT chat_key, epoch, '` + state.String() + `', session_id, reply_to, 1, id FROM turns`)
			free := l.takePlaces()
			l.must(end(l))
			l.until("the end of the process: "+name+", "+state.String(), func() bool {
				s := l.pool.Stats()
				return s.Idle+s.Running == 0
			})
			free()
		}
	}
}

// A subagent in the background asks those for whom it works, also if the chat's follow-up is expected for others.
func TestASubagentAsksThoseForWhomItWorks(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.start()
	l.say("om_1", "你好")
	l.awaitTurns(1)
	other := incoming("om_2", "你好")
	other.Actor.ID = "ou_2"
	l.receive(other)
	l.awaitTurns(2)
	l.sql(`INSERT INTO turns (chat_key, epoch, state, session_id, reply_to, created_at, follows)
		SELECT chat_key, epoch, 'running', session_id, reply_to, 1, id FROM turns WHERE reply_to = 'om_1'`)
	p, err := l.pool.Acquire(t.Context(), "other", claude.Spec{Session: uuid.NewString(), Dir: l.config.Project})
	l.must(err)
	defer l.pool.Release(p)
	l.runner().followUps.requestDecision(t.Context(), db.Turn{ID: 2, Key: room}, p,
		claude.ToolAsk{ID: "x", Name: "Bash", Input: []byte(`{"command":"touch x"}`), For: "2"})
	if n := l.count(`SELECT COUNT(*) FROM approvals WHERE askers = '["ou_2"]' AND turn_id IN
		(SELECT id FROM turns WHERE follows = 1)`); n != 1 {
		t.Error("the wrong people are asked")
	}
}

// Nobody is asked any more in a group that the bot has left, also if the agent has begun to tell what it has done.
func TestASubagentAsksNobodyInAGroupThatIsLeft(t *testing.T) {
	t.Parallel()
	for _, state := range []convo.Phase{convo.Running, convo.Queued} {
		l := newRig(t)
		l.start()
		l.say("om_1", "你好")
		l.awaitTurns(1)
		c, err := l.store.Turns().FollowUp(t.Context(), db.Turn{ID: 1, Key: room})
		l.must(err)
		free := sync.OnceFunc(l.takePlaces())
		t.Cleanup(free)
		l.approvals().RequestDecision(t.Context(), c, approval.Workspace{},
			claude.ToolAsk{ID: "x", Name: "Bash", Input: []byte(`{"command":"touch x"}`)},
			func(claude.Decision) bool { return true })
		l.sql(`UPDATE turns SET state = '` + state.String() + `' WHERE follows > 0`)
		l.must(l.bridge.HandleMembership(t.Context(), changed(chat.Removed, 2000)))
		l.until("the end of the question: "+state.String(), func() bool {
			return l.count(`SELECT COUNT(*) FROM approvals WHERE state = 'withdrawn'`) == 1
		})
		free()
	}
}
