package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

const insertEvent = `INSERT INTO events (id, seen_at) VALUES (?1, ?2) ON CONFLICT (id) DO NOTHING`

// takeEvent records an event that is not a message, in the transaction of its effect. It returns [ErrRepeated] if the
// event is known. An event without an ID is always new.
func takeEvent(ctx context.Context, d *DB, tx *sql.Tx, id string) error {
	if id == "" {
		return nil
	}
	res, err := tx.ExecContext(ctx, insertEvent, id, millis(d.now()))
	if err != nil {
		return fmt.Errorf("note event %s: %w", id, err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, ErrRepeated)
	}
	return nil
}
