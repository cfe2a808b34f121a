package db_test

import (
	"fmt"
	"testing"

	"magpie/db"
	"magpie/internal/chat"
)

// authors lists the authors of a chat's messages, oldest first.
func authors(t *testing.T, d *db.DB, key chat.Key) string {
	t.Helper()
	list := ""
	for m, err := range d.Messages().Range(t.Context(), key, 0, 0, 1<<62) {
		if err != nil {
			t.Fatal(err)
		}
		list = fmt.Sprintf("%s/%s ", m.Actor.ID, m.Actor.Name) + list
	}
	return list
}

// Messages that were stored before their author's name was known get it later, in all chats. No name is replaced.
func TestNamesAreFilledInLater(t *testing.T) {
	d := fresh(t)
	for i, actor := range []chat.Actor{{ID: "ou_1"}, {ID: "ou_2", Name: "Bob"}, {ID: "ou_3"}, {}} {
		e := say(fmt.Sprint("om_", i), "hello")
		e.Actor = actor
		accept(t, d, e)
		e = say(fmt.Sprint("om_other_", i), "hello")
		e.Actor, e.Key, e.Class = actor, chat.FeishuChat("oc_other"), chat.Overheard
		accept(t, d, e)
	}
	for range 2 { // the second time nothing changes
		if err := d.Messages().Name(t.Context(), map[string]string{"ou_1": "Ann", "ou_2": "Robert", "ou_9": "Zoe",
			"": "nobody"}); err != nil {
			t.Fatal(err)
		}
	}
	c := claim(t, d, "s")
	finish(t, d, db.TurnResult{Turn: c.Turn})
	if got := authors(t, d, oc); got != "ou_1/Ann ou_2/Bob ou_3/ / " {
		t.Errorf("the History is by %q", got)
	}
	if got := c.Asked[0].Actor.Name; got != "Ann" {
		t.Errorf("the asker's name is %q", got)
	}
}
