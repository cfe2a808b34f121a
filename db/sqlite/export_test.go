package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"testing"
	"time"
)

// Waiting is the number of write transactions that wait for the writer.
func (d *DB) Waiting() int { return len(d.writer.waitingJobs()) }

// LimitPages lets the database grow by that many pages only, as on a disk that is nearly full.
func (d *DB) LimitPages(t testing.TB, more int) {
	t.Helper()
	var now int
	if err := d.read.QueryRow("PRAGMA page_count").Scan(&now); err != nil {
		t.Fatal(err)
	}
	var limit int
	if err := d.write.QueryRow(fmt.Sprintf("PRAGMA max_page_count = %d", now+more)).Scan(&limit); err != nil ||
		limit != now+more {
		t.Fatalf("page limit %d, %v", limit, err)
	}
}

// Unchecked lets the database write without checking that its files are in place.
func (d *DB) Unchecked() { d.files.known = nil }

// InPlace checks that the files are in place.
func (d *DB) InPlace() error { return d.files.check() }

// alone calls do while the writer is idle: after it has reported a group's outcome it may still trim the log.
func (w *writer) alone(do func()) {
	w.leading <- struct{}{}
	defer func() { <-w.leading }()
	do()
}

// WaitForReaders sets the value of readersTime.
func (d *DB) WaitForReaders(t testing.TB, most time.Duration) {
	t.Helper()
	d.writer.alone(func() { d.writer.readersTime = most })
}

// TrimAt is the size of the log from which it is emptied.
func (d *DB) TrimAt() (size int64) {
	d.writer.alone(func() { size = d.writer.trimAt })
	return size
}

// LimitLog sets the value of walLimit.
func (d *DB) LimitLog(t testing.TB, bytes int64) {
	t.Helper()
	d.writer.alone(func() { d.writer.walLimit, d.writer.trimAt = bytes, bytes })
	if _, err := d.write.Exec(fmt.Sprintf("PRAGMA journal_size_limit = %d", bytes)); err != nil {
		t.Fatal(err)
	}
}

// Read runs a query on one of the readers.
func (d *DB) Read(query string) (*sql.Rows, error) { return d.read.Query(query) }

// Migrate upgrades the schema to that of files.
func (d *DB) Migrate(ctx context.Context, files fs.FS) error { return migrate(ctx, d, files) }

// QuickCheck is the check at Open, with another limit for small databases.
func (d *DB) QuickCheck(ctx context.Context, closed bool, small int64) error {
	return checkQuickly(ctx, d, closed, small)
}

// HasLog reports whether the database at path was not closed properly.
func HasLog(path string) bool { return hasLog(path) }
