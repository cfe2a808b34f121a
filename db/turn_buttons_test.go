package db_test

import (
	"testing"

	"magpie/db"
)

// The buttons of a turn's card are old when the next card is there, whatever else of that turn was delivered since.
func TestButtonsAreOldBelowTheNextCard(t *testing.T) {
	d := fresh(t)
	first := answer(t, d, "om_1", "one", 0).Turn.ID
	delivered(t, d, next(t, d), "card/1")
	delivered(t, d, db.Post{Key: oc, Turn: first, Approval: "a-1"}, "")
	old := func() map[int64]string {
		list, err := d.Outbox().OldButtons(t.Context(), oc)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if list := old(); len(list) != 0 {
		t.Errorf("below the newest card: %v", list)
	}
	accept(t, d, say("om_2", "two"))
	second := claim(t, d, "s-1").Turn.ID
	if err := d.Outbox().SetCard(t.Context(), db.Post{Key: oc, Turn: second}, "card/2"); err != nil {
		t.Fatal(err)
	}
	if list := old(); len(list) != 1 || list[first] != "card/1" {
		t.Errorf("below an older card: %v", list)
	}
}
