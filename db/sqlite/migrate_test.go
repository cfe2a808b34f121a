package sqlite_test

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/db/engine"
)

// schema is that of package db.
var schema = os.DirFS("../schema")

// newerSchema is this program's schema with one more migration.
func newerSchema(t *testing.T, migration string) fs.FS {
	t.Helper()
	files := fstest.MapFS{"90000_later.sql": {Data: []byte("-- +goose Up\n" + migration)}}
	names, err := fs.Glob(schema, "*.sql")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(schema, name)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(name)] = &fstest.MapFile{Data: text}
	}
	return files
}

func copies(t *testing.T, path string) []string {
	t.Helper()
	list, err := filepath.Glob(path + ".before-*")
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestAnUpgradeKeepsACopyAndCannotBeUndoneByAnOldProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "magpie.db")
	d := open(t, path)
	accept(t, d, say("om_1", "old"))
	if list := copies(t, path); len(list) != 0 {
		t.Errorf("a new database was copied: %v", list)
	}
	if err := fileOf(d).Migrate(t.Context(), newerSchema(t, "CREATE TABLE later (x TEXT);")); err != nil {
		t.Fatal(err)
	}
	accept(t, d, say("om_2", "new"))
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	list := copies(t, path)
	if len(list) != 1 {
		t.Fatalf("copies: %v", list)
	}

	cfg := db.Config{URL: "sqlite://" + path}
	for name, open := range map[string]func() (*db.DB, error){
		"to serve": func() (*db.DB, error) { return db.Open(t.Context(), cfg) },
		"to read":  func() (*db.DB, error) { return db.OpenReadOnly(t.Context(), cfg) },
	} {
		_, err := open()
		if !errors.Is(err, engine.ErrNewerSchema) || !strings.Contains(err.Error(), "90000") ||
			!strings.Contains(err.Error(), list[0]) {
			t.Errorf("the older version opens it %s: %v", name, err)
		}
	}

	if err := os.Rename(list[0], path); err != nil { // as the error advises
		t.Fatal(err)
	}
	back := open(t, path)
	if got := history(t, back, 0, 99); got != "u:old" {
		t.Errorf("the copy contains %q", got)
	}
}

func TestAFailedUpgradeChangesNothing(t *testing.T) {
	path := dbtest.Create(t)
	d := open(t, path)
	accept(t, d, say("om_1", "old"))
	bad := newerSchema(t, "CREATE TABLE later (x TEXT);\nINSERT INTO nowhere VALUES (1);")
	for range 3 { // as when a supervisor restarts the program
		if err := fileOf(d).Migrate(t.Context(), bad); err == nil {
			t.Fatal("it succeeded")
		}
	}
	if list := copies(t, path); len(list) != 1 {
		t.Errorf("copies: %v", list)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = open(t, path)
	accept(t, d, say("om_2", "new"))
	if got := history(t, d, 0, 99); got != "u:new u:old" {
		t.Errorf("history = %q", got)
	}
}

// A read-only connection cannot upgrade the schema, but can report that it is outdated.
func TestAnOlderSchemaIsDetected(t *testing.T) {
	path := dbtest.Create(t)
	if err := open(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	current := func() error {
		d, err := db.OpenReadOnly(t.Context(), db.Config{URL: "sqlite://" + path})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close() //nolint:errcheck // only read
		return d.CheckSchema(t.Context())
	}
	if err := current(); err != nil {
		t.Errorf("of the current schema: %v", err)
	}
	side, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := side.Exec(`DELETE FROM goose_db_version
		WHERE version_id = (SELECT MAX(version_id) FROM goose_db_version)`); err != nil {
		t.Fatal(err)
	}
	if err := side.Close(); err != nil {
		t.Fatal(err)
	}
	if err := current(); !errors.Is(err, engine.ErrOlderSchema) || !strings.Contains(err.Error(), path) {
		t.Errorf("of an older schema: %v", err)
	}
}
