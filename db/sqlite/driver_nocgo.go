//go:build !cgo || !(sqlite_fts5 || fts5)

package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// This is SQLite translated to Go, for builds without a C compiler or without the tag that adds full-text search to the
// other driver. It is slower, and does not cache compiled statements.

// conn is a newly opened connection.
type conn struct{ driver sqlite.ExecQuerierContext }

// exec runs statements.
func (c conn) exec(statements string) error {
	_, err := c.driver.ExecContext(context.Background(), statements, nil)
	return err
}

// onChange sets the function called for every row changed through the connection, see [Options]. Here that includes
// rows deleted by REPLACE.
func (c conn) onChange(changed func(table string, row int64)) {
	c.driver.(sqlite.HookRegisterer).RegisterPreUpdateHook(func(d sqlite.SQLitePreUpdateData) {
		row := d.NewRowID
		if d.Op == sqlite3.SQLITE_DELETE {
			row = d.OldRowID
		}
		changed(d.TableName, row)
	})
}

// newDriver makes a driver that prepares its connections with a function, which may be nil.
func newDriver(prepare func(conn) error) driver.Driver {
	d := &sqlite.Driver{}
	if prepare != nil {
		d.RegisterConnectionHook(func(c sqlite.ExecQuerierContext, _ string) error { return prepare(conn{c}) })
	}
	return d
}

// inTransaction reports whether a connection of the driver had an open transaction, which is then rolled back: it tries
// a rollback, which fails if there is no transaction.
func inTransaction(c any) bool {
	s, ok := c.(driver.ExecerContext)
	if !ok {
		return false
	}
	_, err := s.ExecContext(context.Background(), "ROLLBACK", nil)
	return err == nil
}

// isFull reports whether a write failed because the disk is full. An exhausted quota is not recognized: the driver does
// not pass on the system's error.
func isFull(err error) bool {
	s, ok := errors.AsType[*sqlite.Error](err)
	return ok && (s.Code()&0xff == sqlite3.SQLITE_FULL || s.Code() == sqlite3.SQLITE_IOERR_SHMSIZE)
}

// isDamage reports whether SQLite has found the file damaged.
func isDamage(err error) bool {
	s, ok := errors.AsType[*sqlite.Error](err)
	return ok && (s.Code()&0xff == sqlite3.SQLITE_CORRUPT || s.Code()&0xff == sqlite3.SQLITE_NOTADB)
}
