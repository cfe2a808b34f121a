package db_test

import (
	"testing"
	"time"

	"magpie/db/dbtest"
	"magpie/internal/chat"
)

// What is in memory of a chat is what its rows say, which each decision of a test's database checks, whatever has
// changed the rows since the last one.
func TestTurnsInMemoryAreNeverStale(t *testing.T) {
	path := dbtest.Create(t)
	d := open(t, path)
	side := dbtest.Side(t, path)
	exec := func(statement string) {
		t.Helper()
		_, err := side.Exec(statement)
		must(t, err)
	}
	exec(dbtest.Trigger{Name: "broken", On: "BEFORE INSERT ON outbox", If: "NEW.idem LIKE '% late:%'"}.Create())

	accept(t, d, say("om_1", "one"))
	late := say("om_2", "two")
	late.Held = &chat.Card{Body: "late"}
	if _, err := d.Messages().Accept(t.Context(), late); err == nil { // it is decided, and then undone
		t.Fatal("stored")
	}
	accept(t, d, say("om_3", "three"))

	exec(`UPDATE turns SET acted = 1`) // another program
	accept(t, d, say("om_4", "four"))

	edit(t, d, "om_4", "fore") // changes a message of a turn
	accept(t, d, say("om_5", "five"))

	_, _, err := d.Chats().Leave(t.Context(), chat.Change{Key: oc, Did: chat.Removed, Time: time.Now()}) // decides by itself
	must(t, err)
	accept(t, d, say("om_6", "six"))
	if next := claim(t, d, "s"); texts(next.Asked) != "u:six" {
		t.Errorf("the next turn asks %q", texts(next.Asked))
	}
}
