package sqlite_test

import (
	"strings"
	"testing"
	"time"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
)

var oc = chat.FeishuChat("oc_1")

func open(t testing.TB, path string) *db.DB { return dbtest.Open(t, path) }

func fresh(t testing.TB) *db.DB { return dbtest.New(t) }

func say(id, text string) db.Inbound {
	return db.Inbound{
		Incoming: chat.Incoming{Key: oc, Kind: chat.Private, ID: id, Text: text, Actor: chat.Actor{ID: "ou_1", Name: "小明"},
			Time: time.UnixMilli(1000)},
		Class: chat.Talk,
	}
}

func accept(t testing.TB, d *db.DB, e db.Inbound) db.AcceptResult {
	t.Helper()
	a, err := d.Messages().Accept(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// names are the ids of a turn that is claimed.
func names(session string) db.TurnIDs { return db.TurnIDs{Session: session, Prompt: "p-" + session} }

func claim(t testing.TB, d *db.DB, session string) db.Claim {
	t.Helper()
	c, err := d.Queue().Claim(t.Context(), oc, names(session), true)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func finish(t testing.TB, d *db.DB, e db.TurnResult) {
	t.Helper()
	if e.State == "" {
		e.State = db.Done
	}
	if err := d.Turns().Finish(t.Context(), e); err != nil {
		t.Fatal(err)
	}
}

func texts(list []chat.Message) string {
	var s []string
	for _, m := range list {
		s = append(s, string(m.Role[0])+":"+m.Text)
	}
	return strings.Join(s, " ")
}

func history(t testing.TB, d *db.DB, epoch, before int64) string {
	t.Helper()
	var list []chat.Message
	for m, err := range d.History().Of(t.Context(), oc, epoch, 0, before) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, m)
	}
	return texts(list)
}
