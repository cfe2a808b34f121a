package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"magpie/internal/chat"
)

// isLate limits the search to the newest messages of the chat.
const isLate = ` AND seq >= (SELECT next_seq FROM chats WHERE key = ?1) - 500`

const selectOverheard = `SELECT ` + messageColumns + ` FROM messages WHERE chat_key = ?1 AND epoch = ?2
	AND class = 'overheard' AND role = 'user'
	AND sent_at > COALESCE(
		(SELECT MAX(sent_at) FROM messages WHERE chat_key = ?1 AND turn_id = ?3 AND turn_id > 0 AND role = 'user'), -1
	)
	AND sent_at <= ?4` + notRecalled + isLate + ` ORDER BY sent_at DESC, seq DESC LIMIT ?5`

// Overheard returns the group messages that were not addressed to the bot, after the questions of turn seen and until a
// time: the newest of an epoch, in the order in which they were written. Without such a turn it goes back further.
func (ms Messages) Overheard(
	ctx context.Context, key chat.Key, epoch, seen int64, until time.Time, most int,
) ([]chat.Message, error) {
	list, err := queryMessages(ctx, ms.db.read, key, selectOverheard, key.String(), epoch, seen, millis(until), most)
	if err != nil {
		return nil, fmt.Errorf("read overheard messages of %v: %w", key, err)
	}
	slices.Reverse(list)
	return list, nil
}

const lastAddressed = `SELECT sent_at, (SELECT COUNT(*) FROM messages o WHERE o.chat_key = ?1 AND o.seq > m.seq
	AND o.class = 'overheard')
	FROM messages m WHERE chat_key = ?1 AND role = 'user' AND class <> 'overheard' AND turn_id < ?2` + isLate + `
	ORDER BY seq DESC LIMIT 1`

// LastAddressed returns when the bot was last addressed in a chat before a turn, and the number of overheard messages
// since; the zero time if that is long ago.
func (ms Messages) LastAddressed(
	ctx context.Context, key chat.Key, turn int64,
) (at time.Time, overheard int, err error) {
	var sent int64
	err = ms.db.read.QueryRowContext(ctx, lastAddressed, key.String(), turn).Scan(&sent, &overheard)
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, 0, nil
	} else if err != nil {
		return time.Time{}, 0, fmt.Errorf("when %v was last addressed: %w", key, err)
	}
	return fromMillis(sent), overheard, nil
}

// StoreOverheard stores messages of a chat for which no event arrived, unless a new conversation has begun there. Known
// messages are ignored.
func (ms Messages) StoreOverheard(ctx context.Context, key chat.Key, epoch int64, list []chat.Incoming) error {
	err := ms.db.engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		c, err := loadChat(ctx, tx, key)
		if err != nil || c.Epoch != epoch {
			return err
		}
		for _, in := range list {
			m := chat.Message{
				Key: key, ID: in.ID, Role: chat.User, Class: chat.Overheard, Actor: in.Actor, Text: in.Text, Time: in.Time,
			}
			fresh, err := ms.insert(ctx, tx, &m)
			if err == nil && fresh {
				_, err = ms.insertFiles(ctx, tx, key, in.ID, in.Files)
			}
			if err == nil && fresh { // the list may have been read before
				_, err = ms.checkRecalled(ctx, tx, m)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("store overheard messages of %v: %w", key, err)
	}
	return nil
}
