package db

import (
	"context"
	"fmt"
	"time"

	"magpie/internal/chat"
)

// silence is how long nothing is sent to a chat in which the bot may not write, unless somebody writes to it there.
const silence = 3 * 24 * time.Hour

// Silenced is a chat in which the platform does not let the bot write.
type Silenced struct {
	Key   chat.Key
	Title string // in a private chat the person's name; empty = unknown
	Kind  chat.Kind
	Since time.Time
	Why   string // the platform's reason, for operators
}

const insertSilenced = `INSERT INTO silenced (chat_key, since, why) VALUES (?1, ?2, ?3)
	ON CONFLICT (chat_key) DO UPDATE SET since = excluded.since, why = excluded.why`

// Silence notes that the platform lets the bot say nothing in a chat.
func (cs Chats) Silence(ctx context.Context, key chat.Key, why string) error {
	if _, err := cs.db.engine.Exec(ctx, insertSilenced, key.String(), millis(cs.db.now()), why); err != nil {
		return fmt.Errorf("silence %v: %w", key, err)
	}
	return nil
}

// unsilence applies when somebody writes to the bot in the chat, who may want an answer.
const unsilence = `DELETE FROM silenced WHERE chat_key = ?1`

const isSilenced = `SELECT COUNT(*) FROM silenced WHERE chat_key = ?1 AND since > ?2`

// IsSilenced reports whether sending to a chat is suspended.
func (cs Chats) IsSilenced(ctx context.Context, key chat.Key) (bool, error) {
	var n int
	since := millis(cs.db.now().Add(-silence))
	if err := cs.db.read.QueryRowContext(ctx, isSilenced, key.String(), since).Scan(&n); err != nil {
		return false, fmt.Errorf("is %v silenced: %w", key, err)
	}
	return n > 0, nil
}

const selectSilenced = `SELECT s.chat_key, CASE c.kind WHEN 'p2p' THEN COALESCE((SELECT m.actor_name FROM messages m
		WHERE m.chat_key = s.chat_key AND m.actor_name <> '' ORDER BY m.seq DESC LIMIT 1), c.title) ELSE c.title END,
	c.kind, s.since, s.why FROM silenced s JOIN chats c ON c.key = s.chat_key
	WHERE s.since > ?1 AND c.left_at <= c.joined_at ORDER BY s.since DESC`

// Silenced lists the chats to which sending is suspended, latest first.
func (cs Chats) Silenced(ctx context.Context) ([]Silenced, error) {
	list, err := queryAll(ctx, cs.db.read, scanSilenced, selectSilenced, millis(cs.db.now().Add(-silence)))
	if err != nil {
		return nil, fmt.Errorf("list silenced chats: %w", err)
	}
	return list, nil
}

func scanSilenced(scan scanner) (s Silenced, err error) {
	var key string
	var since int64
	if err := scan(&key, &s.Title, &s.Kind, &since, &s.Why); err != nil {
		return s, err
	}
	s.Since = fromMillis(since)
	s.Key, err = chat.ParseKey(key)
	return s, err
}
