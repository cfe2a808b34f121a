package db_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/db"
	"magpie/internal/chat"
)

func TestActiveChatsAreThoseInWhichPeopleSpokeLast(t *testing.T) {
	d := fresh(t)
	said := func(room, id string, ms int64) db.Inbound {
		e := say(id, "x")
		e.Key, e.Time = chat.FeishuChat(room), time.UnixMilli(ms)
		return e
	}
	for _, e := range []db.Inbound{said("oc_a", "1", 1000), said("oc_b", "2", 3000), said("oc_c", "3", 2000),
		said("oc_a", "4", 1500)} {
		accept(t, d, e)
	}
	got, err := d.Chats().Active(t.Context(), "", time.UnixMilli(1800), 5)
	if err != nil {
		t.Fatal(err)
	}
	want := []chat.Activity{
		{Key: chat.FeishuChat("oc_b"), Kind: chat.Private, Since: time.UnixMilli(3000).UTC()},
		{Key: chat.FeishuChat("oc_c"), Kind: chat.Private, Since: time.UnixMilli(2000).UTC()},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A pressed button is no message of the platform: its time must not hide missed messages.
func TestAPressDoesNotHideWhatWasMissed(t *testing.T) {
	d := fresh(t)
	turn := interruptedTurn(t, d)
	w := db.Decision{Key: oc, Turn: turn.ID, GoOn: true,
		ContinueMessage: chat.Message{Text: "继续", Time: time.UnixMilli(1_000_000)}}
	if err := d.Turns().Decide(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	press := say(db.PressID("ev_1"), "/status")
	press.Class, press.Time = chat.Command, time.UnixMilli(2_000_000)
	accept(t, d, press)
	got, err := d.Chats().Active(t.Context(), "", time.UnixMilli(0), 5)
	if err != nil || len(got) != 1 || got[0].Since.UnixMilli() != 1000 {
		t.Errorf("active %+v, %v", got, err)
	}
}

// Imported messages of another program do not count as activity: that program may have answered later messages, which
// must not be backfilled.
func TestImportedMessagesAreNoActivity(t *testing.T) {
	d := fresh(t)
	said := db.Record{Message: chat.Message{
		Key: oc, ID: db.ForeignID("other", "1"), Role: chat.User, Class: chat.Talk, Text: "你好", Time: time.UnixMilli(1000),
	}}
	if _, err := d.Messages().Importer()(t.Context(), []db.Record{said}); err != nil {
		t.Fatal(err)
	}
	active := func() []chat.Activity {
		list, err := d.Chats().Active(t.Context(), "", time.UnixMilli(0), 5)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if list := active(); len(list) != 0 {
		t.Errorf("active without a message of the platform: %+v", list)
	}
	accept(t, d, say("om_1", "x"))
	if list := active(); len(list) != 1 {
		t.Errorf("active: %+v", list)
	}
}
