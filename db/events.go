package db

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// eventMemory is how long an event is remembered. The platform repeats one for 7.1 hours at most
// (page "Event subscription overview"); a backup that is restored may be older.
const eventMemory = 8 * 24 * time.Hour

const insertEvent = `INSERT INTO events (id, seen_at) VALUES (?1, ?2) ON CONFLICT (id) DO NOTHING`

const forgetEvents = `DELETE FROM events WHERE seen_at < ?1`

// TakeEvent notes an event that is no message, and reports whether it is seen for the first time.
func (d *DB) TakeEvent(ctx context.Context, id string) (fresh bool, err error) {
	err = d.tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now := d.now()
		if _, err := tx.ExecContext(ctx, forgetEvents, millis(now.Add(-eventMemory))); err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, insertEvent, id, millis(now))
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		fresh = n > 0
		return err
	})
	if err != nil {
		return false, fmt.Errorf("note event %s: %w", id, err)
	}
	return fresh, nil
}
