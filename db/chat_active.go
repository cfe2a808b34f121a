package db

import (
	"context"
	"fmt"
	"time"

	"magpie/internal/chat"
)

// What people wrote, but not answers and pressed buttons: those have this machine's time, which may be later than that
// of a missed message.
const activeChats = `SELECT key, kind, said FROM (
	SELECT key, kind, (SELECT sent_at FROM messages WHERE chat_key = chats.key AND role = 'user'` + written + `
		ORDER BY seq DESC LIMIT 1) AS said FROM chats WHERE (?1 = '' OR ` + ofChannel + `) AND left_at <= joined_at
	) WHERE said >= ?2 ORDER BY said DESC LIMIT ?3`

// Active lists the chats of a channel, or of all if it is empty, with the most recent messages of people, latest first.
// It omits chats that were silent since then, or that the bot has left.
func (cs Chats) Active(ctx context.Context, channel string, since time.Time, most int) ([]chat.Activity, error) {
	list, err := queryAll(ctx, cs.db.read, scanActivity, activeChats, channel, since.UnixMilli(), most)
	if err != nil {
		return nil, fmt.Errorf("list active chats: %w", err)
	}
	return list, nil
}

const silentChats = `SELECT key FROM chats WHERE turned_at > ?1 AND turned_at <= ?2 AND left_at <= joined_at
	ORDER BY turned_at`

// SilentBetween names the chats whose last turn ended after one time and not after another, but none where the bot is
// not any more.
func (cs Chats) SilentBetween(ctx context.Context, after, until time.Time) ([]chat.Key, error) {
	return chatKeys(ctx, cs.db.read, silentChats, after.UnixMilli(), until.UnixMilli())
}

func scanActivity(scan scanner) (a chat.Activity, err error) {
	var key string
	var said int64
	if err := scan(&key, &a.Kind, &said); err != nil {
		return a, err
	}
	a.Since = time.UnixMilli(said).UTC()
	a.Key, err = chat.ParseKey(key)
	return a, err
}
