package handoff_test

import (
	"testing"

	"magpie/bridge/handoff"
	"magpie/db"
	"magpie/db/dbtest"
	"magpie/db/handoffs"
	"magpie/internal/chat"
)

// A terminal in which somebody has opened a session by hand holds no other conversation, and ends only there.
func TestAFoundTerminalHoldsOneConversation(t *testing.T) {
	d := dbtest.New(t)
	key := chat.FeishuChat("oc_1")
	if _, err := d.Handoffs().Take(t.Context(), handoffs.Lease{Key: key, Node: "gone", Epoch: 1, Session: "s", Pid: 12, Found: true}); err != nil {
		t.Fatal(err)
	}
	h := handoff.New(handoff.Config{DB: d, Node: "here", Wake: func(chat.Key) {}})
	for epoch, held := range map[int64]bool{1: true, 2: false} {
		until, _, err := h.Held(t.Context(), db.Claim{Turn: db.Turn{Key: key, Epoch: epoch}})
		if err != nil || until.IsZero() == held {
			t.Errorf("conversation %d waits until %v, %v", epoch, until, err)
		}
	}
	// Without other bridges the machine is this one, whatever its name was.
	if l, over, err := h.Recall(t.Context(), key); err != nil || over || !l.Found {
		t.Fatal(l, over, err)
	}
	if _, held, err := h.Of(t.Context(), key); err != nil || !held {
		t.Errorf("it is not held any more: %v", err)
	}
}
