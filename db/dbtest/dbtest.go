// Package dbtest makes databases for tests: files, or with MAGPIE_TEST_POSTGRES databases of that PostgreSQL server.
// Upgrading a new file to the current schema takes half a second under the race detector, so that is done once per test
// binary, and each test gets a copy. Tests of new databases and of schema upgrades use [db.Open] with an unused path.
//
// It holds no data of single tests.
package dbtest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"magpie/db"
)

// template is the content of an empty database file.
var template = sync.OnceValues(func() (content []byte, err error) {
	dir, err := os.MkdirTemp("", "magpie-dbtest-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "template.db")
	d, err := db.Open(context.Background(), db.Config{URL: URL(path)})
	if err != nil {
		return nil, err
	}
	if err := d.Close(); err != nil { // which empties the write-ahead log into the file
		return nil, err
	}
	return os.ReadFile(path)
})

// URL is the URL of a database file, for [db.Config], or of the database that stands for it.
func URL(path string) string {
	if OnPostgres() {
		return urlOf(databaseOf(path))
	}
	return "sqlite://" + path
}

// Write writes an empty database with the current schema to a new file, and creates its folder. The error is
// [fs.ErrExist] if the path exists.
func Write(path string) error {
	if OnPostgres() {
		name, err := postgresTemplate()
		if err != nil {
			return err
		}
		return createDatabase(path, name)
	}
	content, err := template()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// Create is [Write] to a file in a folder of the test; it returns the path.
func Create(t testing.TB) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "magpie.db")
	if OnPostgres() {
		drop(t, path)
	}
	if err := Write(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// Verifies reports whether a database is to look at what it has stored, see [db.Config]: in a test, and not where time
// is measured.
func Verifies(t testing.TB) bool {
	_, measured := t.(*testing.B)
	return !measured
}

// Open opens a database, and closes it when the test ends. It creates the file if necessary.
func Open(t testing.TB, path string) *db.DB {
	t.Helper()
	if OnPostgres() {
		if err := createDatabase(path, ""); err == nil {
			drop(t, path)
		} else if !errors.Is(err, fs.ErrExist) {
			t.Fatal(err)
		}
	}
	d, err := db.Open(t.Context(), db.Config{URL: URL(path), Verify: Verifies(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// New opens an empty database in a folder of the test, and closes it when the test ends.
func New(t testing.TB) *db.DB {
	t.Helper()
	return Open(t, Create(t))
}
