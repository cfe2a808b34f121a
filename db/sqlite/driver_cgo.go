//go:build cgo && (sqlite_fts5 || fts5)

package sqlite

import (
	"database/sql/driver"
	"errors"
	"syscall"

	"github.com/mattn/go-sqlite3"
)

// conn is a newly opened connection.
type conn struct{ driver *sqlite3.SQLiteConn }

// exec runs statements.
func (c conn) exec(statements string) error {
	_, err := c.driver.Exec(statements, nil)
	return err
}

// onChange sets the function called for every row changed through the connection, see [Options].
func (c conn) onChange(changed func(table string, row int64)) {
	c.driver.RegisterUpdateHook(func(_ int, _, table string, row int64) { changed(table, row) })
}

// newDriver makes a driver that prepares its connections with a function, which may be nil.
func newDriver(prepare func(conn) error) driver.Driver {
	d := &sqlite3.SQLiteDriver{}
	if prepare != nil {
		d.ConnectHook = func(c *sqlite3.SQLiteConn) error { return prepare(conn{c}) }
	}
	return d
}

// inTransaction reports whether a connection of the driver has an open transaction.
func inTransaction(c any) bool {
	s, ok := c.(*sqlite3.SQLiteConn)
	return ok && !s.AutoCommit()
}

// isFull reports whether a write failed because the disk is full.
func isFull(err error) bool {
	s, ok := errors.AsType[sqlite3.Error](err)
	return ok && (s.Code == sqlite3.ErrFull || s.SystemErrno == syscall.ENOSPC || s.SystemErrno == syscall.EDQUOT ||
		s.ExtendedCode == sqlite3.ErrIoErrSHMSize)
}

// isDamage reports whether SQLite has found the file damaged.
func isDamage(err error) bool {
	s, ok := errors.AsType[sqlite3.Error](err)
	return ok && (s.Code == sqlite3.ErrCorrupt || s.Code == sqlite3.ErrNotADB)
}
