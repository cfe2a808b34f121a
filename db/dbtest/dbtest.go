// Package dbtest makes databases for tests. Bringing a new file to today's schema takes half a second under the race
// detector, so that is done once in a test binary, and each test gets a copy. How a database begins and how its schema
// changes does not belong here: tests of that use [db.Open] with a path at which there is nothing.
package dbtest

import (
	"context"
	"errors"
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

// URL names the database in a file, as [db.Config] wants it.
func URL(path string) string { return "sqlite://" + path }

// Write writes an empty database with today's schema to a new file, which nobody has opened yet, and makes the
// folder that the file is in. An error is
// [fs.ErrExist] when there is something at the path.
func Write(path string) error {
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

// Create is [Write] to a file in a folder of the test, and returns its path.
func Create(t testing.TB) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "magpie.db")
	if err := Write(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// Open opens a database, and closes it when the test ends. If there is no file at the path yet, it is made.
func Open(t testing.TB, path string) *db.DB {
	t.Helper()
	d, err := db.Open(t.Context(), db.Config{URL: URL(path)})
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
