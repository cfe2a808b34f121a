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

const countExport = `SELECT COUNT(*) FROM messages WHERE (?1 = '' OR chat_key = ?1)` + notRecalled

// Count returns how many records [Messages.Export] yields. It reads no texts.
func (ms Messages) Count(ctx context.Context, key chat.Key) (n int64, err error) {
	only := ""
	if key != (chat.Key{}) {
		only = key.String()
	}
	if err := ms.db.read.QueryRowContext(ctx, countExport, only).Scan(&n); err != nil {
		return 0, fmt.Errorf("count the history: %w", err)
	}
	return n, nil
}

// Export iterates over the current History of a chat, which need not exist, or with the zero key of all chats: chat by
// chat, each in order. It yields an error only if the caller still reads: yielding after a break would panic.
func (ms Messages) Export(ctx context.Context, of chat.Key) iter.Seq2[Record, error] {
	only := ""
	if of != (chat.Key{}) {
		only = of.String()
	}
	return func(yield func(Record, error) bool) {
		enough := false
		err := ms.walkRecords(ctx, only, func(r Record) bool {
			enough = !yield(r, nil)
			return !enough
		})
		if err != nil && !enough {
			yield(Record{}, fmt.Errorf("read the history: %w", err))
		}
	}
}

// walkRecords calls f for every message until f returns false. It reads row by row and occupies one connection
// meanwhile.
func (ms Messages) walkRecords(ctx context.Context, only string, f func(Record) bool) (err error) {
	rows, err := ms.db.read.QueryContext(ctx, selectExport, only)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var r Record
		var key string
		var at int64
		err := rows.Scan(&r.Seq, &r.Epoch, &r.Turn, &r.ID, &r.Role, &r.Class, &r.Actor.ID, &r.Actor.Name, &r.Text, &at,
			&key, &r.Kind, &r.Past)
		if err != nil {
			return err
		}
		r.Time = fromMillis(at)
		if r.Key, err = chat.ParseKey(key); err != nil {
			return err
		}
		if !f(r) {
			return nil
		}
	}
	return rows.Err()
}
