package db

import (
	"context"
	"fmt"
	"time"

	"magpie/internal/chat"
)

// Failure is why an attempt to deliver a post failed.
type Failure struct {
	Obstacle chat.Obstacle
	Why      string // in the words of the platform or the system, for operators
}

// Undelivered are the posts that wait for the same obstacle.
type Undelivered struct {
	Failure           // of the oldest
	Posts   int       // in all their chats, with those that wait behind another one
	Since   time.Time // when the oldest was added
}

// Only the oldest post of a chat is tried. Of why, SQLite takes the value in the row with the minimum.
const undelivered = `SELECT failed.obstacle, failed.why, COUNT(*), MIN(o.created_at)
	FROM outbox failed JOIN outbox o ON o.chat_key = failed.chat_key
	WHERE failed.attempts > 0 AND NOT EXISTS (
		SELECT 1 FROM outbox older WHERE older.chat_key = failed.chat_key AND older.id < failed.id)
	GROUP BY failed.obstacle ORDER BY MIN(o.created_at)`

// Undelivered lists the posts that wait since an attempt has failed, by what is in their way.
func (o Outbox) Undelivered(ctx context.Context) ([]Undelivered, error) {
	list, err := queryAll(ctx, o.db.read, scanUndelivered, undelivered)
	if err != nil {
		return nil, fmt.Errorf("list failed deliveries: %w", err)
	}
	return list, nil
}

func scanUndelivered(scan scanner) (u Undelivered, err error) {
	var since int64
	err = scan(&u.Obstacle, &u.Why, &u.Posts, &since)
	u.Since = fromMillis(since)
	return u, err
}
