package bridge

import (
	"testing"

	"magpie/bridge/delivery/deliverytest"
)

// What goes on in the background is ended at once, also while there is no place for another turn.
func TestWhatGoesOnEndsWithoutAPlace(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*bridgeRig) error{
		"stopped":            func(l *bridgeRig) error { return l.bridge.HandleMessage(t.Context(), incoming("om_2", "/stop")) },
		"a bare word":        func(l *bridgeRig) error { return l.bridge.HandleMessage(t.Context(), incoming("om_2", "停")) },
		"a new conversation": func(l *bridgeRig) error { return l.bridge.HandleMessage(t.Context(), incoming("om_2", "/new")) },
		"recalled":           func(l *bridgeRig) error { return l.bridge.HandleRecall(t.Context(), room, "om_1") },
	} {
		l := newBridgeRig(t, &deliverytest.Recorder{})
		l.start()
		l.say("om_1", "你好")
		l.until("an idle process", func() bool {
			_, running := l.bridge.queues.turns.jobs.Count() // the end of a turn drops a follow-up that is not expected
			return l.count(`SELECT COUNT(*) FROM turns WHERE state = 'done'`) == 1 && l.pool.Stats().Idle == 1 && running == 0
		})
		l.sql(`INSERT INTO turns (chat_key, epoch, state, session_id, reply_to, created_at, follows)
			SELECT chat_key, epoch, 'running', session_id, reply_to, 1, id FROM turns`)
		free := takePlaces(l.bridge)
		l.must(end(l))
		l.until("the end of the process: "+name, func() bool {
			s := l.pool.Stats()
			return s.Idle+s.Running == 0
		})
		free()
	}
}
