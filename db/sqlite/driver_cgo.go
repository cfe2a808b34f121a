//go:build cgo

package sqlite

import (
	"database/sql/driver"
	"errors"
	"syscall"

	"github.com/mattn/go-sqlite3"
)

// conn is a connection that was just opened.
type conn struct{ driver *sqlite3.SQLiteConn }

// exec runs statements.
func (c conn) exec(statements string) error {
	_, err := c.driver.Exec(statements, nil)
	return err
}

// onChange has changed called for every row that is changed through the connection, as [Options] say.
func (c conn) onChange(changed func(table string, row int64)) {
	c.driver.RegisterUpdateHook(func(_ int, _, table string, row int64) { changed(table, row) })
}

// newDriver is a driver whose connections are prepared by a function, which may be nil.
func newDriver(prepare func(conn) error) driver.Driver {
	d := &sqlite3.SQLiteDriver{}
	if prepare != nil {
		d.ConnectHook = func(c *sqlite3.SQLiteConn) error { return prepare(conn{c}) }
	}
	return d
}

// inTransaction reports whether a transaction is open on a connection of the driver.
func inTransaction(c any) bool {
	s, ok := c.(*sqlite3.SQLiteConn)
	return ok && !s.AutoCommit()
}

// isFull reports whether a write has failed because the disk has no room for it.
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
