package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// eventMemory is how long an event is remembered. The platform repeats one for 7.1 hours at most
// (page "Event subscription overview"); a backup that is restored may be older.
const eventMemory = 8 * 24 * time.Hour

const insertEvent = `INSERT INTO events (id, seen_at) VALUES (?1, ?2) ON CONFLICT (id) DO NOTHING`

const forgetEvents = `DELETE FROM events WHERE seen_at < ?1`

// takeEvent notes an event that is no message, in the transaction of what it causes. It returns [ErrRepeated] when the
// event is known. An event without an id is always new.
func (d *DB) takeEvent(ctx context.Context, tx *sql.Tx, id string) error {
	if id == "" {
		return nil
	}
	now := d.now()
	if _, err := tx.ExecContext(ctx, forgetEvents, millis(now.Add(-eventMemory))); err != nil {
		return fmt.Errorf("forget events: %w", err)
	}
	res, err := tx.ExecContext(ctx, insertEvent, id, millis(now))
	if err != nil {
		return fmt.Errorf("note event %s: %w", id, err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, ErrRepeated)
	}
	return nil
}
