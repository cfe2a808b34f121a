package dbtest

import (
	"strings"
	"testing"
	"time"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/convo"
)

// Chat is the chat of [Say], [Claim] and [Messages].
var Chat = chat.FeishuChat("oc_1")

// Say makes a user's message in [Chat].
func Say(id, text string) db.Inbound {
	return db.Inbound{
		Incoming: chat.Incoming{Key: Chat, Kind: chat.Private, ID: id, Text: text,
			Actor: chat.Actor{ID: "ou_1", Name: "小明"}, Time: time.UnixMilli(1000)},
		Class: chat.Talk,
	}
}

// Accept stores a message.
func Accept(t testing.TB, d *db.DB, in db.Inbound) db.AcceptResult {
	t.Helper()
	a, err := d.Messages().Accept(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// StartIn is how [Claim] claims a turn.
func StartIn(session string) db.Start {
	return db.Start{Session: session, Prompt: "p-" + session, Resume: true}
}

// Claim claims the next turn of [Chat].
func Claim(t testing.TB, d *db.DB, session string) db.Claim {
	t.Helper()
	c, err := d.Turns().Claim(t.Context(), Chat, StartIn(session))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Finish stores the end of a turn; the default state is done.
func Finish(t testing.TB, d *db.DB, e db.TurnResult) {
	t.Helper()
	if e.State == 0 {
		e.State = convo.Done
	}
	if err := d.Turns().Finish(t.Context(), e); err != nil {
		t.Fatal(err)
	}
}

// Texts formats messages in one line: the first letter of each role, and the text.
func Texts(list []chat.Message) string {
	var s []string
	for _, m := range list {
		s = append(s, string(m.Role[0])+":"+m.Text)
	}
	return strings.Join(s, " ")
}

// History is an epoch of [Chat] before a message, formatted by [Texts].
func History(t testing.TB, d *db.DB, epoch, before int64) string {
	t.Helper()
	var list []chat.Message
	for m, err := range d.Messages().Range(t.Context(), Chat, epoch, 0, before) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, m)
	}
	return Texts(list)
}
