package db_test

import (
	"testing"
	"time"

	"magpie/internal/chat"
)

// Nothing is sent to a silenced chat for three days. If the platform still refuses then, three more days begin.
func TestASilenceEnds(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_1", "one"))
	silences := d.Chats()
	began := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	d.At(t, began)
	begin := func() {
		t.Helper()
		if err := silences.Silence(t.Context(), oc, "muted"); err != nil {
			t.Fatal(err)
		}
	}
	check := func(after time.Duration, want bool) {
		t.Helper()
		d.At(t, began.Add(after))
		has, err := silences.IsSilenced(t.Context(), oc)
		if err != nil || has != want {
			t.Errorf("after %v: silenced %v, %v", after, has, err)
		}
		list, err := silences.Silenced(t.Context())
		if err != nil || len(list) == 1 != want || want && (list[0].Key != oc || list[0].Kind != chat.Private ||
			list[0].Title != "小明") {
			t.Errorf("after %v: %+v, %v", after, list, err)
		}
	}
	const days = 24 * time.Hour
	check(0, false)
	begin()
	check(0, true)
	check(3*days-time.Millisecond, true)
	check(3*days, false)
	begin()
	check(6*days-time.Millisecond, true)
	check(6*days, false)
}
