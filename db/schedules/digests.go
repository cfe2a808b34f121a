package schedules

import (
	"context"
	"database/sql"
	"fmt"

	"magpie/db/engine"
	"magpie/internal/chat"
)

// Digest is a daily report to the owner.
type Digest struct {
	Key    chat.Key // its destination
	Minute int      // of the day
	Day    string   // the last day done, such as "2026-05-04"
}

const (
	selectDigests = `SELECT chat_key, minute, day FROM digests`
	endDigestDay  = `UPDATE digests SET day = ?2 WHERE chat_key = ?1 AND day < ?2`
	setDigest     = `INSERT INTO digests (chat_key, minute, day) VALUES (?1, ?2, ?3)
		ON CONFLICT (chat_key) DO UPDATE SET minute = excluded.minute,
		day = CASE WHEN excluded.day > digests.day THEN excluded.day ELSE digests.day END`
	endDigest = `DELETE FROM digests WHERE chat_key = ?1`
)

// Digests lists all digests.
func (s Store) Digests(ctx context.Context) ([]Digest, error) {
	return engine.All(ctx, s.Readers, what, func(rows *sql.Rows) (d Digest, err error) {
		var key string
		if err := rows.Scan(&key, &d.Minute, &d.Day); err != nil {
			return d, err
		}
		d.Key, err = chat.ParseKey(key)
		return d, err
	}, selectDigests)
}

// FinishDigest records that the digest of a day is done, and has its text shown unless it is empty. It returns [ErrChanged]
// if the day was done before, or the digest was cancelled.
func (s Store) FinishDigest(ctx context.Context, key chat.Key, day, text string) error {
	err := s.Tx(ctx, key, func(ctx context.Context, tx *sql.Tx) error {
		err := changed(tx.ExecContext(ctx, endDigestDay, key.String(), day))
		if err != nil || text == "" {
			return err
		}
		return s.Post(ctx, tx, Notice{To: chat.Ref{Key: key}, Idem: "digest:" + key.String() + ":" + day, Text: text})
	})
	if err != nil {
		return fmt.Errorf("digest of %s: %w", day, err)
	}
	return nil
}

// order has a digest sent to the chat every day at its minute. Its day is the last one that counts as done; without one,
// the digest is cancelled.
func (d Digest) order(ctx context.Context, tx *sql.Tx) (err error) {
	if d.Day == "" {
		_, err = tx.ExecContext(ctx, endDigest, d.Key.String())
	} else {
		_, err = tx.ExecContext(ctx, setDigest, d.Key.String(), d.Minute, d.Day)
	}
	if err != nil {
		return fmt.Errorf("order a digest: %w", err)
	}
	return nil
}
