package db_test

import (
	"errors"
	"slices"
	"testing"

	"magpie/db"
)

func TestAChatCannotGoBackToWhatWasTakenBack(t *testing.T) {
	for _, anew := range []bool{false, true} {
		d := fresh(t)
		turn(t, d, "om_0", "zero", "s-0")
		if err := d.Chats().ForgetSession(t.Context(), oc, "s-0"); err != nil {
			t.Fatal(err)
		}
		turn(t, d, "om_1", "one", "s-1")
		turn(t, d, "om_2", "two", "unused")
		if err := d.Chats().ForgetSession(t.Context(), oc, "s-1"); err != nil {
			t.Fatal(err)
		}
		turn(t, d, "om_3", "three", "s-3") // which was told of what was said before
		if anew {
			startOver(t, d, "om_4")
			turn(t, d, "om_5", "five", "s-5")
		}
		recall(t, d, "om_1")
		list, err := d.Chats().PastSessions(t.Context(), oc, 10)
		var left []string
		for _, s := range list {
			left = append(left, s.ID)
		}
		want := []string{"s-0"}
		if anew {
			want = []string{"s-5", "s-0"}
		}
		if err != nil || !slices.Equal(left, want) {
			t.Errorf("sessions to go back to: %v %v", left, err)
		}
		for _, s := range []string{"s-1", "s-3"} {
			if _, err := d.Accept(t.Context(), back("om_back", s)); !errors.Is(err, db.ErrNotFound) {
				t.Errorf("back to %s: %v", s, err)
			}
		}
	}
}
