package db_test

import (
	"fmt"
	"testing"
	"time"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/tokenize"
)

const day = 24 * time.Hour

// keptOf lists the messages of oc that are kept.
func keptOf(t testing.TB, d *db.DB) string {
	t.Helper()
	var list []chat.Message
	for m, err := range d.Messages().Range(t.Context(), oc, 0, 0, 1<<62) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, m)
	}
	return texts(list)
}

// old is a message that was written that long ago.
func old(id, text string, ago time.Duration) db.Inbound {
	e := say(id, text)
	e.Time = time.Now().Add(-ago)
	return e
}

func TestTheHistoryIsKeptUnlessItHasATime(t *testing.T) {
	d := fresh(t)
	accept(t, d, old("om_1", "鹊桥 old", 400*day))
	c := claim(t, d, "s-1")
	finish(t, d, db.TurnResult{Turn: c.Turn})
	for i := range 1200 { // more than one batch
		e := old(fmt.Sprintf("om_x%d", i), "overheard", 100*day)
		e.Class = chat.Overheard
		accept(t, d, e)
	}
	accept(t, d, old("om_2", "鹊桥 new", 10*day))
	c = claim(t, d, "s-1")
	finish(t, d, db.TurnResult{Turn: c.Turn})
	if err := compact(t, d, 0, db.Summary{Text: "of old", Seq: 1, Until: time.Now().Add(-400 * day)}, ""); err != nil {
		t.Fatal(err)
	}
	accept(t, d, old("om_3", "still asked", 200*day))

	cfg := db.Defaults()
	if s, err := db.Sweep(t.Context(), d, cfg); err != nil || s != (db.Swept{}) {
		t.Fatalf("by default %+v, %v", s, err)
	}
	if got := keptOf(t, d); got != "u:still asked u:鹊桥 new u:鹊桥 old" {
		t.Fatalf("by default kept: %s", got)
	}
	cfg.HistoryTTL.Duration = 90 * day
	if s, err := db.Sweep(t.Context(), d, cfg); err != nil || s.Messages != 1201 {
		t.Errorf("swept %+v, %v", s, err)
	}
	if got := keptOf(t, d); got != "u:still asked u:鹊桥 new" {
		t.Errorf("kept: %s", got)
	}
	if c := chatOf(t, d); c.Summary.Text != "" || c.ContextAfter() != 1 {
		t.Errorf("the summary of deleted messages: %+v", c.Summary)
	}
	found, err := d.Search().Find(t.Context(), oc, 0, []string{tokenize.Terms("鹊桥")[0]}, 100)
	if err != nil || len(found.Terms) != 1 || len(found.Terms[0].Seqs) != 1 || found.Terms[0].Seqs[0] == 1 {
		t.Errorf("found %+v, %v", found, err)
	}
	if err := d.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if s, err := db.Sweep(t.Context(), d, cfg); err != nil || s != (db.Swept{}) {
		t.Errorf("swept again %+v, %v", s, err)
	}
}

func TestTimesThatAreTooShort(t *testing.T) {
	cfg := db.Defaults()
	cfg.URL = "sqlite://x.db"
	if err := cfg.Validate(); err != nil {
		t.Error(err)
	}
	cfg.HistoryTTL.Duration = time.Hour
	if err := cfg.Validate(); err == nil {
		t.Error("a retention of one hour was accepted")
	}
	cfg.HistoryTTL.Duration, cfg.CacheTTL.Duration = 0, 0
	if err := cfg.Validate(); err == nil {
		t.Error("a retention of no events was accepted")
	}
}

// The first versions of a message may have been swept when it is edited again.
func TestAMessageIsEditedAfterItsFirstVersionIsSwept(t *testing.T) {
	d := fresh(t)
	accept(t, d, old("om_1", "first", 400*day))
	finish(t, d, db.TurnResult{Turn: claim(t, d, "s-1").Turn})
	edit := func(text string) db.AcceptResult {
		t.Helper()
		e := old("om_1", text, day)
		e.Held = &chat.Card{Body: "again?"}
		a, err := d.Messages().Edit(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	if a := edit("second"); a.Turn == 0 {
		t.Fatal("the edited message is not held back")
	} else if err := d.Turns().Decide(t.Context(), db.Decision{Key: oc, Turn: a.Turn, Event: "press"}); err != nil {
		t.Fatal(err)
	}
	cfg := db.Defaults()
	cfg.HistoryTTL.Duration = 300 * day
	if s, err := db.Sweep(t.Context(), d, cfg); err != nil || s.Messages != 1 {
		t.Fatalf("swept %+v, %v", s, err)
	}
	a := edit("third")
	list, err := d.Messages().Questions(t.Context(), db.Turn{ID: a.Turn, Key: oc})
	if err != nil || len(list) != 1 || list[0].Text != "third" {
		t.Errorf("%v, %v", list, err)
	}
}
