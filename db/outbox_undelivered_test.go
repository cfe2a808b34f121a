package db_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
)

// Waiting posts are counted by the reason that blocks them, including the posts behind them, also after a restart.
// Posts that were not tried yet or were delivered since do not count.
func TestUndelivered(t *testing.T) {
	path := dbtest.Create(t)
	d := open(t, path)
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	keys := []chat.Key{oc, chat.FeishuChat("oc_2"), chat.FeishuChat("oc_3"), chat.FeishuChat("oc_4")}
	enqueue := func(key chat.Key, idem string) {
		t.Helper()
		now = now.Add(time.Minute)
		d.At(t, now)
		if err := d.Outbox().Enqueue(t.Context(), db.Post{Key: key, Idem: idem, Text: "a"}); err != nil {
			t.Fatal(err)
		}
	}
	fails := func(key chat.Key, f db.Failure) {
		t.Helper()
		p, err := d.Outbox().Next(t.Context(), key)
		if err == nil {
			err = d.Outbox().Delay(t.Context(), p, now, f, false)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	check := func(want ...db.Undelivered) {
		t.Helper()
		got, err := d.Outbox().Undelivered(t.Context())
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v %s", err, diff)
		}
	}
	for i, key := range keys {
		m := say("om_"+key.ID, "one")
		m.Key = key
		accept(t, d, m)
		enqueue(key, "first "+key.ID)
		if i == 0 {
			enqueue(key, "second "+key.ID)
		}
	}
	began := now.Add(-4 * time.Minute)
	check()
	away := db.Failure{Obstacle: chat.NotAvailable, Why: "no route"}
	lacks := db.Failure{Obstacle: chat.NoPermission, Why: "scope im:resource"}
	fails(keys[0], away)
	fails(keys[0], lacks) // the last reason counts
	fails(keys[1], db.Failure{Obstacle: chat.NoPermission, Why: "another scope"})
	fails(keys[2], away)
	want := []db.Undelivered{
		{Failure: lacks, Posts: 3, Since: began}, {Failure: away, Posts: 1, Since: began.Add(3 * time.Minute)},
	}
	check(want...)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = open(t, path)
	check(want...)
	delivered(t, d, nextPost(t, d), "om_a")
	delivered(t, d, nextPost(t, d), "om_b")
	check(db.Undelivered{
		Failure: db.Failure{Obstacle: chat.NoPermission, Why: "another scope"}, Posts: 1, Since: began.Add(2 * time.Minute),
	}, want[1])
}
