package db_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"magpie/db"
	"magpie/db/schedules"
	"magpie/internal/chat"
	"magpie/internal/convo"
)

// A digest is queued once a day, and never for a day that is over.
func TestADigestIsSentOnceADay(t *testing.T) {
	d := fresh(t)
	in := say("om_1", "/digest on 09:30")
	in.Class, in.Effects = chat.Command, []db.Effect{db.ChangeSchedules{Digest: schedules.Digest{Key: oc, Minute: 570, Day: "2026-05-03"}}}
	accept(t, d, in)
	for _, s := range []struct {
		day, text   string
		sent, again bool
	}{
		{"2026-05-03", "x", false, true}, {"2026-05-04", "busy", true, false},
		{"2026-05-04", "busy", false, true}, {"2026-05-05", "", false, false},
	} {
		err := d.Schedules().FinishDigest(t.Context(), oc, s.day, s.text)
		if errors.Is(err, schedules.ErrChanged) != s.again || err != nil && !s.again {
			t.Errorf("%s: %v", s.day, err)
		}
		if got := len(deliver(t, d)) == 1; got != s.sent {
			t.Errorf("%s: sent %v", s.day, got)
		}
	}
	list, err := d.Schedules().Digests(t.Context())
	if err != nil || len(list) != 1 || list[0].Key != oc || list[0].Minute != 570 || list[0].Day != "2026-05-05" {
		t.Errorf("%+v, %v", list, err)
	}
	in = say("om_2", "/digest off")
	in.Class, in.Effects = chat.Command, []db.Effect{db.ChangeSchedules{Digest: schedules.Digest{Key: oc}}}
	accept(t, d, in)
	if err := d.Schedules().FinishDigest(t.Context(), oc, "2026-05-06", "x"); !errors.Is(err, schedules.ErrChanged) {
		t.Errorf("after its end: %v", err)
	}
	empty(t, d)
}

// The business of a day is that of all chats.
func TestTheBusinessOfADay(t *testing.T) {
	d := fresh(t)
	for i, state := range []convo.Phase{convo.Done, convo.Failed, convo.Cancelled} {
		d.At(t, began.Add(time.Duration(i)*time.Hour))
		accept(t, d, say("om_"+string(rune('a'+i)), "q"))
		finish(t, d, db.TurnResult{Turn: claim(t, d, "s").Turn, State: state, Usage: &db.Usage{Model: "m", CostUSD: 0.5}})
	}
	asking(t, d, accept(t, d, say("om_4", "go")).Turn)
	got, err := d.Chats().Totals(t.Context(), chat.Key{}, began.Add(time.Minute), began.Add(24*time.Hour))
	if want := "{2 1 1 1}"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}
