package db_test

import (
	"fmt"
	"testing"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/racetest"
)

func TestMergingLeavesOneSegment(t *testing.T) {
	dbtest.OfSQLite(t)
	racetest.Skip(t)
	d := fresh(t)
	key := chat.FeishuChat("oc_1")
	for batch := range 20 {
		var list []db.Record
		for i := range 50 {
			n := batch*50 + i
			list = append(list, db.Record{Message: chat.Message{
				Key: key, ID: fmt.Sprintf("om_%d", n), Role: chat.User, Class: chat.Talk, Text: fmt.Sprintf("word%d common", n),
			}})
		}
		if _, err := d.Messages().Importer()(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	if n := parts(t, d); n < 2 {
		t.Fatalf("%d parts before", n)
	}
	if err := d.Search().Merge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := parts(t, d); n != 1 {
		t.Errorf("%d parts after", n)
	}
	found, err := d.Search().Find(t.Context(), key, 0, []string{"word999", "word0", "common"}, 5000)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{1, 1, 1000} {
		if got := len(found.Terms[i].Seqs); got != want {
			t.Errorf("%s: %d messages, want %d", found.Terms[i].Term, got, want)
		}
	}
	if err := d.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if err := d.Search().Merge(t.Context()); err != nil { // nothing left to merge
		t.Error(err)
	}
}

// parts is the number of segments of the index.
func parts(t *testing.T, d *db.DB) (n int) {
	t.Helper()
	rows, err := d.Read(`SELECT COUNT(DISTINCT segid) FROM terms_idx`)
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
