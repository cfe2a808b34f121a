package schedules

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"magpie/db/engine"
)

// Call is what a program has said: that a schedule is to run now.
type Call struct {
	Schedule

	ID   string    // of its door; the same if the program repeats itself
	File string    // what it has sent, see package programs; empty = nothing
	At   time.Time // when; of a call that is listed it does not matter
}

// FileName is the name of what a program has sent.
const FileName = "request.txt"

const (
	insertCall = `INSERT INTO calls (chat_key, number, id, file, called_at) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING`
	deleteCall = `DELETE FROM calls WHERE chat_key = ?1 AND number = ?2 AND id = ?3`
	openCalls  = `SELECT id, file, ` + columns + ` FROM calls JOIN schedules USING (chat_key, number) ORDER BY called_at, id`
	countCalls = `SELECT COUNT(*) FROM calls WHERE chat_key = ?1 AND number = ?2 AND id <> ?3`
)

// maxCalls is how many calls of a schedule may wait.
const maxCalls = 100

// ErrTooMany means that too many calls of a schedule wait.
var ErrTooMany = errors.New("too many calls wait")

// HasRoom returns [ErrTooMany] if a call would be too many.
func (s Store) HasRoom(ctx context.Context, c Call) error {
	return hasRoom(s.Readers.QueryRowContext(ctx, countCalls, c.Key.String(), c.Number, c.ID))
}

func hasRoom(row *sql.Row) error {
	var n int
	if err := row.Scan(&n); err != nil {
		return fmt.Errorf("count calls: %w", err)
	} else if n >= maxCalls {
		return ErrTooMany
	}
	return nil
}

// Call notes that a program has called. Once it returns without error, the call survives a crash.
func (s Store) Call(ctx context.Context, c Call) error {
	return s.Tx(ctx, c.Key, func(ctx context.Context, tx *sql.Tx) error {
		if err := hasRoom(tx.QueryRowContext(ctx, countCalls, c.Key.String(), c.Number, c.ID)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, insertCall, c.Key.String(), c.Number, c.ID, c.File, c.At.UnixMilli())
		return err
	})
}

// Calls lists the calls that nothing has come of yet, oldest first.
func (s Store) Calls(ctx context.Context) ([]Call, error) {
	return engine.All(ctx, s.Readers, what, func(rows *sql.Rows) (c Call, err error) {
		c.Schedule, err = scanAfter(rows, &c.ID, &c.File)
		return c, err
	}, openCalls)
}
