//go:build !cgo

package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// This is SQLite translated to Go, for programs that are built without a C compiler. It is slower, and keeps no
// compiled statements.

// conn is a connection that was just opened.
type conn struct{ driver sqlite.ExecQuerierContext }

// exec runs statements.
func (c conn) exec(statements string) error {
	_, err := c.driver.ExecContext(context.Background(), statements, nil)
	return err
}

// onChange has changed called for every row that is changed through the connection, as [Options] say, and for rows that
// are deleted by REPLACE, too.
func (c conn) onChange(changed func(table string, row int64)) {
	c.driver.(sqlite.HookRegisterer).RegisterPreUpdateHook(func(d sqlite.SQLitePreUpdateData) {
		row := d.NewRowID
		if d.Op == sqlite3.SQLITE_DELETE {
			row = d.OldRowID
		}
		changed(d.TableName, row)
	})
}

// newDriver is a driver whose connections are prepared by a function, which may be nil.
func newDriver(prepare func(conn) error) driver.Driver {
	d := &sqlite.Driver{}
	if prepare != nil {
		d.RegisterConnectionHook(func(c sqlite.ExecQuerierContext, _ string) error { return prepare(conn{c}) })
	}
	return d
}

// inTransaction reports whether a transaction is open on a connection of the driver. If so, it was rolled back: SQLite
// is asked by a rollback, which fails where there is nothing to roll back.
func inTransaction(c any) bool {
	s, ok := c.(driver.ExecerContext)
	if !ok {
		return false
	}
	_, err := s.ExecContext(context.Background(), "ROLLBACK", nil)
	return err == nil
}

// isFull reports whether a write has failed because the disk has no room for it. A quota that is used up is not
// recognized: the driver does not pass on the system's error.
func isFull(err error) bool {
	s, ok := errors.AsType[*sqlite.Error](err)
	return ok && (s.Code()&0xff == sqlite3.SQLITE_FULL || s.Code() == sqlite3.SQLITE_IOERR_SHMSIZE)
}

// isDamage reports whether SQLite has found the file damaged.
func isDamage(err error) bool {
	s, ok := errors.AsType[*sqlite.Error](err)
	return ok && (s.Code()&0xff == sqlite3.SQLITE_CORRUPT || s.Code()&0xff == sqlite3.SQLITE_NOTADB)
}
