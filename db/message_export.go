package db

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"magpie/internal/chat"
)

const selectExport = `SELECT ` + messageColumns + `, key, kind, epoch < now
	FROM (SELECT key, kind, epoch AS now FROM chats WHERE ?1 = '' OR key = ?1 ORDER BY key)
	CROSS JOIN messages ON chat_key = key` + notRecalled + `
	ORDER BY key, seq`

// All iterates over the current History of all chats: chat by chat, each in order.
func (rs Records) All(ctx context.Context) iter.Seq2[Record, error] { return rs.read(ctx, "") }

// Range is [Records.All] for one chat, which need not exist.
func (rs Records) Range(ctx context.Context, key chat.Key) iter.Seq2[Record, error] {
	return rs.read(ctx, key.String())
}

const countExport = `SELECT COUNT(*) FROM messages WHERE (?1 = '' OR chat_key = ?1)` + notRecalled

// Count returns how many records [Records.Range] yields, or [Records.All] for the zero key. It reads no texts.
func (rs Records) Count(ctx context.Context, key chat.Key) (n int64, err error) {
	only := ""
	if key != (chat.Key{}) {
		only = key.String()
	}
	if err := rs.db.read.QueryRowContext(ctx, countExport, only).Scan(&n); err != nil {
		return 0, fmt.Errorf("count the history: %w", err)
	}
	return n, nil
}

// read yields an error only if the caller still reads: yielding after a break would panic.
func (rs Records) read(ctx context.Context, only string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		enough := false
		err := rs.walk(ctx, only, func(r Record) bool {
			enough = !yield(r, nil)
			return !enough
		})
		if err != nil && !enough {
			yield(Record{}, fmt.Errorf("read the history: %w", err))
		}
	}
}

// walk calls f for every message until f returns false. It reads row by row and occupies one connection meanwhile.
func (rs Records) walk(ctx context.Context, only string, f func(Record) bool) (err error) {
	rows, err := rs.db.read.QueryContext(ctx, selectExport, only)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var r Record
		var key string
		var ms int64
		err := rows.Scan(&r.Seq, &r.Epoch, &r.Turn, &r.ID, &r.Role, &r.Class, &r.Actor.ID, &r.Actor.Name, &r.Text, &ms,
			&key, &r.Kind, &r.Past)
		if err != nil {
			return err
		}
		r.Time = fromMillis(ms)
		if r.Key, err = chat.ParseKey(key); err != nil {
			return err
		}
		if !f(r) {
			return nil
		}
	}
	return rows.Err()
}
