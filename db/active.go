package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"magpie/internal/chat"
)

// What people wrote, and neither the answers nor pressed buttons: those carry this machine's time, which may lie after a
// message that was missed.
const activeChats = `SELECT key, kind, said FROM (
	SELECT key, kind, (SELECT sent_at FROM messages WHERE chat_key = chats.key AND role = 'user'` + written + `
		ORDER BY seq DESC LIMIT 1) AS said FROM chats WHERE left_at <= joined_at
	) WHERE said >= ?1 ORDER BY said DESC LIMIT ?2`

// Active names the chats in which people spoke last, those first that spoke last, and none that were silent since or where the bot is not any more.
func (cs Chats) Active(ctx context.Context, since time.Time, most int) (_ []chat.Activity, err error) {
	rows, err := cs.db.read.QueryContext(ctx, activeChats, since.UnixMilli(), most)
	if err != nil {
		return nil, fmt.Errorf("list active chats: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var all []chat.Activity
	for rows.Next() {
		var (
			key  string
			said int64
			a    chat.Activity
		)
		if err := rows.Scan(&key, &a.Kind, &said); err != nil {
			return nil, err
		}
		if a.Key, err = chat.ParseKey(key); err != nil {
			return nil, err
		}
		a.Since = time.UnixMilli(said).UTC()
		all = append(all, a)
	}
	return all, rows.Err()
}
