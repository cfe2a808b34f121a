package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/jackc/pgx/v5/stdlib"
)

// Several programs serve a database. One that was stopped for long is declared dead by another one, and must not write any
// more when it goes on: its connections are ended, and it gets no new ones. A transaction needs a connection, so nothing
// that it began or begins can be committed, whatever it is about.

// ErrShutOut means that another program has declared this one dead.
var ErrShutOut = errors.New("another bridge has taken this one's place")

// fence keeps a program out that was declared dead.
type fence struct {
	session atomic.Pointer[string] // nil = it has no place yet
	refused atomic.Int64
}

const mayConnect = `SELECT EXISTS (SELECT 1 FROM nodes WHERE session = $1 AND dead = 0)`

// check looks at a new connection. It was named before: whoever declares this program dead after the check ends it.
func (f *fence) check(ctx context.Context, c *stdlib.Conn) error {
	if f == nil || f.session.Load() == nil {
		return nil
	}
	var alive bool
	if err := c.Conn().QueryRow(ctx, mayConnect, *f.session.Load()).Scan(&alive); err != nil {
		return fmt.Errorf("look for this program's place: %w", err)
	}
	if !alive {
		f.refused.Add(1)
		return ErrShutOut
	}
	return nil
}

// sessionName names the connections of a program.
func sessionName(run string) string { return "magpie " + run }

// Fence has new connections refused once this program, whose place is that of its run, is declared dead.
func (d *DB) Fence() { d.fence.session.Store(&d.options.Run) }

// Refused is how many connections were refused, see [DB.Fence].
func (d *DB) Refused() int64 { return d.fence.refused.Load() }

const endSessions = `SELECT COALESCE(bool_and(pg_terminate_backend(pid, 5000)), TRUE)
	FROM pg_stat_activity JOIN nodes ON application_name = ?1 || session WHERE dead = 1 AND pid <> pg_backend_pid()`

// EndDead ends the connections of the programs that were declared dead in a transaction that is committed.
func (d *DB) EndDead(ctx context.Context) error {
	var ended bool
	err := d.write.QueryRowContext(ctx, endSessions, sessionName("")).Scan(&ended)
	if err == nil && !ended {
		err = errors.New("they do not end")
	}
	if err != nil {
		return fmt.Errorf("end the connections of a dead bridge: %w", d.Explain(err))
	}
	return nil
}

// Do runs one statement outside of a transaction, and gives it up when ctx ends: its outcome is unknown then.
func (d *DB) Do(ctx context.Context, statement string, args ...any) (rows int64, err error) {
	var res sql.Result
	if res, err = d.write.ExecContext(ctx, statement, args...); err == nil {
		rows, err = res.RowsAffected()
	}
	return rows, d.Explain(err)
}

// Row is [DB.Do] for a statement that returns a row. The caller explains its error.
func (d *DB) Row(ctx context.Context, statement string, args ...any) *sql.Row {
	return d.write.QueryRowContext(ctx, statement, args...)
}
