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
