package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"syscall"
	"testing"
	"time"
)

// Tx runs f in a write transaction.
func (f *File) Tx(ctx context.Context, do func(ctx context.Context, tx *sql.Tx) error) error {
	return (&DB{f}).Tx(ctx, do)
}

// Waiting is the number of write transactions that wait for the writer.
func (f *File) Waiting() int { return len(f.writer.waitingJobs()) }

// CopyLock duplicates the descriptor of the lock file, as a fork does, until free is called.
func (f *File) CopyLock(t testing.TB) (free func()) {
	t.Helper()
	fd, err := syscall.Dup(int(f.lock.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := syscall.Close(fd); err != nil {
			t.Error(err)
		}
	}
}

// Lock takes the lock on the database at path; done removes the lock file and releases the lock.
func Lock(path string) (done func() error, err error) {
	f, err := lock(path)
	if err != nil {
		return nil, err
	}
	return func() error { removeLock(f); return unlock(f) }, nil
}

// LimitPages lets the database grow by that many pages only, as on a disk that is nearly full.
func (f *File) LimitPages(t testing.TB, more int) {
	t.Helper()
	var now int
	if err := f.read.QueryRow("PRAGMA page_count").Scan(&now); err != nil {
		t.Fatal(err)
	}
	var limit int
	if err := f.write.QueryRow(fmt.Sprintf("PRAGMA max_page_count = %d", now+more)).Scan(&limit); err != nil ||
		limit != now+more {
		t.Fatalf("page limit %d, %v", limit, err)
	}
}

// Unchecked lets the database write without checking that its files are in place.
func (f *File) Unchecked() { f.files.known = nil }

// InPlace checks that the files are in place.
func (f *File) InPlace() error { return f.files.check() }

// alone calls do while the writer is idle: after it has reported a group's outcome it may still trim the log.
func (w *writer) alone(do func()) {
	w.leading <- struct{}{}
	defer func() { <-w.leading }()
	do()
}

// WaitForReaders sets the value of readersTime.
func (f *File) WaitForReaders(t testing.TB, most time.Duration) {
	t.Helper()
	f.writer.alone(func() { f.writer.readersTime = most })
}

// TrimAt is the size of the log from which it is emptied.
func (f *File) TrimAt() (size int64) {
	f.writer.alone(func() { size = f.writer.trimAt })
	return size
}

// LimitLog sets the value of walLimit.
func (f *File) LimitLog(t testing.TB, bytes int64) {
	t.Helper()
	f.writer.alone(func() { f.writer.walLimit, f.writer.trimAt = bytes, bytes })
	if _, err := f.write.Exec(fmt.Sprintf("PRAGMA journal_size_limit = %d", bytes)); err != nil {
		t.Fatal(err)
	}
}

// Read runs a query on one of the readers.
func (f *File) Read(query string) (*sql.Rows, error) { return f.read.Query(query) }

// Migrate upgrades the schema to that of files.
func (f *File) Migrate(ctx context.Context, files fs.FS) error { return migrate(ctx, f, files) }

// QuickCheck is the check at Open, with another limit for small databases.
func (f *File) QuickCheck(ctx context.Context, closed bool, small int64) error {
	return checkQuickly(ctx, f, closed, small)
}

// HasLog reports whether the database at path was not closed properly.
func HasLog(path string) bool { return hasLog(path) }
