package db_test

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/db/engine"
	"magpie/internal/chat"
)

// Long operations on a large database report their progress: migrations, indexing, a copy.
func TestLongWorkIsReported(t *testing.T) {
	dbtest.OfSQLite(t)
	t.Parallel()
	path := filepath.Join(t.TempDir(), "magpie.db")
	type report struct{ done, total int64 }
	seen := map[engine.Work][]report{}
	use := func(do func(d *db.DB) error) {
		t.Helper()
		clear(seen)
		d, err := db.Open(t.Context(), db.Config{URL: dbtest.URL(path), Progress: func(w engine.Work, done, total int64) {
			seen[w] = append(seen[w], report{done, total})
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := do(d); err != nil {
			t.Error(err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	grows := func(w engine.Work, least int) {
		t.Helper()
		list := seen[w]
		inOrder := slices.IsSortedFunc(list, func(a, b report) int { return int(a.done - b.done) })
		if len(list) < least || !inOrder || list[len(list)-1].total == 0 {
			t.Errorf("of %s is reported: %v", w, list)
		}
	}
	use(func(d *db.DB) error {
		if len(seen[engine.Upgrading]) > 0 {
			t.Errorf("the new database is upgraded: %v", seen[engine.Upgrading])
		}
		var list []db.Record
		for i := range 5000 {
			m := chat.Message{Key: oc, ID: fmt.Sprint("om_", i), Role: chat.User, Class: chat.Talk, Text: "发布在星期二"}
			list = append(list, db.Record{Message: m})
		}
		_, err := d.Messages().Importer()(t.Context(), list)
		return err
	})
	use(func(d *db.DB) error {
		if len(seen) > 0 {
			t.Errorf("there was nothing to do, but progress was reported: %v", seen)
		}
		return d.Backup(t.Context(), path+".copy")
	})
	grows(engine.Copying, 1)
	raw, err := sql.Open("sqlite3", path)
	if err == nil {
		_, err = raw.ExecContext(t.Context(), `UPDATE indexed SET version = -1`)
		err = errors.Join(err, raw.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	use(func(*db.DB) error { return nil })
	grows(engine.Indexing, 3)
}
