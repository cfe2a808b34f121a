package bridge

import (
	"context"
	"testing"
)

// What /stop stops is the turn that ran when it came, not the one that has begun since.
func TestStopDoesNotStopTheNextTurn(t *testing.T) {
	l := newLine(t, &recorder{})
	_, stop := context.WithCancelCause(t.Context())
	l.bridge.lanes.enter(room)
	l.bridge.lanes.begin(room, 7, stop)
	o, err := l.bridge.stop(t.Context(), heard("om_1", "/stop"))
	l.must(err)
	ctx, stop := context.WithCancelCause(t.Context())
	l.bridge.lanes.begin(room, 8, stop)
	o.then()
	if ctx.Err() != nil {
		t.Error("the next turn was stopped")
	}
}

// A question and /stop right behind it: nobody has begun with the question, and nobody shall.
func TestStopStopsWhatHasNotBegun(t *testing.T) {
	rec := &recorder{}
	l := newLine(t, rec)
	l.start()
	l.bridge.lanes.enter(room) // as somebody who has not come to the chat's work yet
	l.say("om_1", "hello")
	l.say("om_2", "/stop")
	l.say("om_3", "/stop") // the same, said twice
	l.bridge.turns.add(func(ctx context.Context) { l.bridge.work(ctx, room) })
	l.until("the end", func() bool {
		return l.count(`SELECT COUNT(*) FROM turns WHERE state = 'cancelled'`) == 1 && l.count(`SELECT COUNT(*) FROM outbox`) == 0
	})
	if n := l.pool.Stats().Started; n != 0 {
		t.Errorf("%d agents were started", n)
	}
	l.say("om_4", "hello again")
	l.until("an answer", func() bool { return l.count(`SELECT COUNT(*) FROM turns WHERE state = 'done'`) == 1 })
	if len(rec.said) != 2 || rec.said[0] != texts.Stopped.in(zh) && rec.said[0] != texts.Stopped.in(en) {
		t.Errorf("said %q", rec.said)
	}
}
