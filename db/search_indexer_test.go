package db_test

import (
	"fmt"
	"slices"
	"testing"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
)

// waiting is the number of messages that are not indexed.
func waiting(t testing.TB, d *db.DB) (n int) {
	t.Helper()
	rows, err := d.Read(`SELECT COUNT(*) FROM messages WHERE id > (SELECT upto FROM indexed)`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close() //nolint:errcheck // only read
	for rows.Next() {
		if err := rows.Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// found are the seqs of the messages that contain the term.
func found(t testing.TB, d *db.DB, term string) []int64 {
	t.Helper()
	c, err := d.Chats().Get(t.Context(), oc)
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.Search().Find(t.Context(), oc, c.Epoch, []string{term}, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return got.Terms[0].Seqs
}

// However long background indexing takes, no message is left out, and few wait.
func TestALaggingIndexMissesNothing(t *testing.T) {
	dbtest.OfSQLite(t)
	d := fresh(t)
	release := d.HoldIndex(t)
	const stored = 5 * db.IndexBatch
	most := 0
	for i := range stored {
		accept(t, d, say(fmt.Sprintf("om_%d", i), "build again"))
		if i%100 == 0 {
			if got := found(t, d, "build"); len(got) != i+1 {
				t.Fatalf("%d of %d found", len(got), i+1)
			}
			most = max(most, waiting(t, d))
		}
	}
	if most <= db.IndexBatch || most >= 1000 { // Find scans up to this many
		t.Errorf("up to %d messages waited", most)
	}
	release()
	for i := range db.IndexBatch {
		accept(t, d, say(fmt.Sprintf("om_late_%d", i), "build again"))
	}
	d.FillIndex(t)
	if got, n := found(t, d, "build"), waiting(t, d); len(got) != stored+db.IndexBatch || n >= db.IndexBatch {
		t.Errorf("%d of %d found, %d wait", len(got), stored+db.IndexBatch, n)
	}
	if err := d.Search().Err(); err != nil {
		t.Error(err)
	}
}

// A message that changes between the reading and the indexing of its batch is indexed as changed.
func TestAnOutdatedBatchIsReadAgain(t *testing.T) {
	dbtest.OfSQLite(t)
	for name, change := range map[string]func(d *db.DB) error{
		"recalled": func(d *db.DB) error {
			_, err := d.Messages().Recall(t.Context(), oc, "om_7", chat.Card{})
			return err
		},
		"edited": func(d *db.DB) error {
			e := say("om_7", "afterwards")
			e.Class = chat.Overheard
			_, err := d.Messages().Edit(t.Context(), e)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := fresh(t)
			changed := false
			d.OvertakeIndex(func() {
				changed = true
				if err := change(d); err != nil {
					t.Error(err)
				}
			})
			release := d.HoldIndex(t)
			accept(t, d, say("om_0", "hello"))
			for i := 1; i < 2*db.IndexBatch; i++ {
				e := say(fmt.Sprintf("om_%d", i), fmt.Sprintf("word%d", i))
				e.Class = chat.Overheard
				accept(t, d, e)
			}
			release()
			d.FillIndex(t)
			if !changed {
				t.Error("nothing happened between reading and indexing")
			}
			if got := found(t, d, "word7"); len(got) != 0 {
				t.Errorf("found by its old text: %v", got)
			}
			if got := found(t, d, "word8"); !slices.Equal(got, []int64{9}) {
				t.Errorf("the other message: %v", got)
			}
			if got := found(t, d, "afterward"); len(got) != map[string]int{"edited": 1}[name] {
				t.Errorf("found by its new text: %v", got)
			}
			if n := waiting(t, d); n >= db.IndexBatch {
				t.Errorf("%d messages wait", n)
			}
		})
	}
}

// A database can be closed while it is being indexed. TestMain fails if a goroutine is left.
func TestCloseEndsTheIndexing(t *testing.T) {
	dbtest.OfSQLite(t)
	path := dbtest.Create(t)
	d := open(t, path)
	closed := make(chan error, 1)
	read := make(chan struct{})
	d.OvertakeIndex(func() {
		go func() { closed <- d.Close() }()
		close(read)
	})
	for i := range db.IndexBatch {
		accept(t, d, say(fmt.Sprintf("om_%d", i), "build again"))
	}
	<-read
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if got := found(t, open(t, path), "build"); len(got) != db.IndexBatch {
		t.Errorf("%d found", len(got))
	}
}
