package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"magpie/internal/chat"
)

// digest is a daily report to the owner.
type digest struct {
	Key    chat.Key // its destination
	Minute int      // of the day
	Day    string   // the last day done, such as "2026-05-04"
}

const selectDigests = `SELECT chat_key, minute, day FROM digests`

// Digests lists all digests.
func (cs Chats) Digests(ctx context.Context) ([]digest, error) {
	list, err := queryAll(ctx, cs.db.read, func(scan scanner) (d digest, err error) {
		var key string
		if err := scan(&key, &d.Minute, &d.Day); err != nil {
			return d, err
		}
		d.Key, err = chat.ParseKey(key)
		return d, err
	}, selectDigests)
	if err != nil {
		return nil, fmt.Errorf("list digests: %w", err)
	}
	return list, nil
}

const endDigestDay = `UPDATE digests SET day = ?2 WHERE chat_key = ?1 AND day < ?2`

// FinishDigest records that the digest of a day is done, and enqueues its text unless it is empty. It returns
// [ErrNotFound] if the day was done before, or the digest was cancelled.
func (cs Chats) FinishDigest(ctx context.Context, key chat.Key, day, text string) error {
	err := cs.db.chatsTx(ctx, []chat.Key{key}, func(ctx context.Context, tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, endDigestDay, key.String(), day)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, ErrNotFound)
		}
		if text == "" {
			return nil
		}
		return cs.db.Outbox().post(ctx, tx, Post{Key: key, Idem: "digest:" + key.String() + ":" + day, Text: text})
	})
	if err != nil {
		return fmt.Errorf("digest of %s: %w", day, err)
	}
	return nil
}

// totals is the bot's work in a period.
type totals struct {
	Turns   int // ended turns
	Failed  int // failed ones among them
	CostUSD float64
	Waiting int // open approvals at the end of the period
}

const business = `SELECT (SELECT COUNT(*) FROM turns INDEXED BY turns_ended WHERE ended_at > 0
	AND ended_at >= ?1 AND ended_at < ?2 AND ` + inChatOrAny + `),
	(SELECT COUNT(*) FROM turns INDEXED BY turns_ended WHERE ended_at > 0 AND ended_at >= ?1 AND ended_at < ?2
	AND state = 'failed' AND ` + inChatOrAny + `),
	(SELECT COALESCE(SUM(cost_usd), 0) FROM ledger WHERE at >= ?1 AND at < ?2 AND ` + inChatOrAny + `),
	(SELECT COUNT(*) FROM approvals WHERE state = 'waiting' AND ` + inChatOrAny + `)`

// Totals returns the totals of a part of all chats, see [chat.PartOf].
func (cs Chats) Totals(ctx context.Context, part chat.Key, from, to time.Time) (b totals, err error) {
	of, without := part.Beginning()
	err = cs.db.read.QueryRowContext(ctx, business, millis(from), millis(to), of, without).
		Scan(&b.Turns, &b.Failed, &b.CostUSD, &b.Waiting)
	if err != nil {
		return b, fmt.Errorf("sum up the day: %w", err)
	}
	return b, nil
}

// SetDigest sends a digest to the chat every day at this minute. Day is the last day that counts as done; without one,
// the digest is cancelled.
type SetDigest struct {
	Minute int
	Day    string
}

const (
	setDigest = `INSERT INTO digests (chat_key, minute, day) VALUES (?1, ?2, ?3)
		ON CONFLICT (chat_key) DO UPDATE SET minute = excluded.minute, 
		day = CASE WHEN excluded.day > digests.day THEN excluded.day ELSE digests.day END`
	endDigest = `DELETE FROM digests WHERE chat_key = ?1`
)

func (e SetDigest) apply(ctx context.Context, tx *sql.Tx, a *acceptance) error {
	if e.Day == "" {
		return a.exec(ctx, tx, "end a digest", endDigest)
	}
	return a.exec(ctx, tx, "order a digest", setDigest, e.Minute, e.Day)
}
