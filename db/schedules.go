package db

import (
	"context"
	"database/sql"

	"magpie/db/schedules"
	"magpie/internal/chat"
)

// Schedules stores what is to be asked in chats at a time.
func (d *DB) Schedules() schedules.Store {
	return schedules.Store{
		Tx: func(ctx context.Context, key chat.Key, f func(context.Context, *sql.Tx) error) error {
			return d.chatsTx(ctx, []chat.Key{key}, f)
		},
		Readers: d.read,
		Post: func(ctx context.Context, tx *sql.Tx, n schedules.Notice) error {
			return d.Outbox().post(ctx, tx, Post{Key: n.To.Key, Idem: n.Idem, ReplyTo: n.To.ID, Text: n.Text, Card: n.Card})
		},
	}
}

// ChangeSchedules changes the schedules of the chat.
type ChangeSchedules schedules.Change

func (e ChangeSchedules) apply(ctx context.Context, tx *sql.Tx, a *acceptance) error {
	return a.db.Schedules().MakeIn(ctx, tx, schedules.Change(e))
}
