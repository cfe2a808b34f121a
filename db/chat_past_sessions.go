package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"magpie/internal/chat"
)

// PastSession is an earlier session of a chat, for users.
type PastSession struct {
	ID       string
	Epoch    int64  // of its conversation
	Turn     int64  // the last turn it answered
	Turns    int    // number of turns answered
	Question string // of the first turn
	Title    string // of its conversation; empty = it has none
	Began    time.Time
	Ended    time.Time
}

// The index turns_chat finds the turns of a chat.
const pastSessions = `SELECT s.session_id, s.epoch, s.last, s.many, s.began, s.ended,
	COALESCE((SELECT content FROM messages m WHERE m.chat_key = ?1 AND m.turn_id = s.first AND m.turn_id > 0
	AND m.role = 'user'` + notRecalled + `
		ORDER BY m.sent_at, m.seq LIMIT 1), ''),
	COALESCE((SELECT topic FROM chats WHERE key = ?1 AND chats.epoch = s.epoch),
		(SELECT title FROM titles WHERE chat_key = ?1 AND titles.epoch = s.epoch), '')
	FROM (SELECT session_id, MAX(epoch) AS epoch, MIN(id) AS first, MAX(id) AS last, COUNT(*) AS many,
	MIN(created_at) AS began, MAX(ended_at) AS ended
		FROM turns WHERE chat_key = ?1 AND state = 'done' AND session_id <> '' GROUP BY session_id) s
	ORDER BY s.last DESC LIMIT ?2`

// PastSessions lists the sessions of a chat that have answered turns, newest first, at most most.
func (cs Chats) PastSessions(ctx context.Context, key chat.Key, most int) ([]PastSession, error) {
	list, err := queryAll(ctx, cs.db.read, scanPastSession, pastSessions, key.String(), most)
	if err != nil {
		return nil, fmt.Errorf("sessions of %v: %w", key, err)
	}
	return list, nil
}

func scanPastSession(scan scanner) (s PastSession, err error) {
	var began, ended int64
	err = scan(&s.ID, &s.Epoch, &s.Turn, &s.Turns, &began, &ended, &s.Question, &s.Title)
	s.Began, s.Ended = fromMillis(began), fromMillis(ended)
	return s, err
}

// A resumed conversation becomes the newest: its messages and turns move to a new epoch, since lower epochs than the
// chat's are closed for good.
var takeUp = []string{
	`UPDATE messages SET epoch = ?3 WHERE chat_key = ?1 AND epoch = ?2`,
	`UPDATE turns SET epoch = ?3 WHERE chat_key = ?1 AND epoch = ?2`,
	`UPDATE embeddings SET epoch = ?3 WHERE chat_key = ?1 AND epoch = ?2`,
	`UPDATE chats SET epoch = ?3, ` + noContext + ` WHERE key = ?1`,
	pastTopic,
	dropTopic,
}

const sessionOfChat = `SELECT epoch, MAX(id) FROM turns INDEXED BY turns_session WHERE chat_key = ?1
	AND session_id = ?2 AND session_id <> '' AND state = 'done' GROUP BY epoch
	ORDER BY 2 DESC LIMIT 1`

const takeSession = `UPDATE chats SET session_id = ?2, session_node = ?3, session_cwd = ?4, session_turn = ?5,
	session_tokens = 0, session_window = 0
	WHERE key = ?1`

// resumeSession makes s, an earlier session of the chat, its current one, and continues its conversation. s names the
// session and where it is resumed. It returns [ErrNotFound] if the chat never had it.
func resumeSession(ctx context.Context, tx *sql.Tx, key chat.Key, s Session) error {
	c, err := loadChat(ctx, tx, key)
	if err != nil {
		return err
	}
	var epoch int64
	err = tx.QueryRowContext(ctx, sessionOfChat, key.String(), s.ID).Scan(&epoch, &s.Turn)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	} else if err != nil {
		return fmt.Errorf("session %s: %w", s.ID, err)
	}
	// A different conversation: its messages get a new epoch, which makes them current.
	if epoch != c.Epoch {
		if _, err := tx.ExecContext(ctx, keepTopic, key.String()); err != nil {
			return fmt.Errorf("keep the title: %w", err)
		}
		for _, update := range takeUp {
			if _, err := tx.ExecContext(ctx, update, key.String(), epoch, c.Epoch+1); err != nil {
				return fmt.Errorf("take up a conversation: %w", err)
			}
		}
	}
	if _, err := tx.ExecContext(ctx, forgetSessionsAside, key.String()); err != nil {
		return fmt.Errorf("forget sessions of other machines: %w", err)
	}
	if _, err := tx.ExecContext(ctx, takeSession, key.String(), s.ID, s.Node, s.Cwd, s.Turn); err != nil {
		return fmt.Errorf("take session %s: %w", s.ID, err)
	}
	return nil
}
