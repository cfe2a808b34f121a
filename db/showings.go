package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"magpie/internal/chat"
)

// Showings stores what was shown over HTTP, where nothing is sent to anybody: programs ask for it, at whichever bridge, and
// again after their connection was cut.
type Showings struct{ db *DB }

// Showings returns what was shown over HTTP.
func (d *DB) Showings() Showings { return Showings{d} }

// Showing is a text or a card as it looks now.
type Showing struct {
	ID      string
	Seq     int64  // grows with each change in the chat
	Content string // JSON
}

// show also runs when the rows before it have been deleted: the number must grow anyway.
const show = `INSERT INTO shown (chat_key, id, seq, content)
	SELECT ?1, ?2, CASE WHEN latest >= ?3 THEN latest + 1 ELSE ?3 END, ?4
	FROM (SELECT COALESCE(MAX(seq), 0) AS latest FROM shown WHERE chat_key = ?1) AS last WHERE 1 = 1
	ON CONFLICT (chat_key, id) DO UPDATE SET seq = excluded.seq, content = excluded.content`

// Show stores how something looks now.
func (s Showings) Show(ctx context.Context, key chat.Key, id, content string) error {
	// Whoever has read up to a number must not miss what is committed later: one after the other in a chat.
	_, err := s.db.namedExec(ctx, "shown in "+key.String(), show, key.String(), id, millis(s.db.now()), content)
	if err != nil {
		return fmt.Errorf("store what is shown over HTTP: %w", err)
	}
	return nil
}

const selectShown = `SELECT id, seq, content FROM shown WHERE chat_key = ?1 AND seq > ?2 ORDER BY seq LIMIT 100`

// Since lists what has changed in a chat after a number, in that order: a hundred changes at most.
func (s Showings) Since(ctx context.Context, key chat.Key, after int64) ([]Showing, error) {
	list, err := queryAll(ctx, s.db.read, scanShowing, selectShown, key.String(), after)
	if err != nil {
		return nil, fmt.Errorf("what is shown over HTTP: %w", err)
	}
	return list, nil
}

const lastShown = `SELECT COALESCE(MAX(seq), 0) FROM shown WHERE chat_key = ?1`

// Last is the number of the latest change in a chat; 0 = there is none.
func (s Showings) Last(ctx context.Context, key chat.Key) (int64, error) {
	return queryOne(ctx, s.db.read, scanNumber, lastShown, key.String())
}

const selectShowing = `SELECT id, seq, content FROM shown WHERE chat_key = ?1 AND id = ?2`

// Get returns how something looks now, or [ErrNotFound].
func (s Showings) Get(ctx context.Context, key chat.Key, id string) (Showing, error) {
	return queryOne(ctx, s.db.read, scanShowing, selectShowing, key.String(), id)
}

func scanShowing(scan scanner) (s Showing, err error) {
	err = scan(&s.ID, &s.Seq, &s.Content)
	return s, err
}

// forgetShown goes by the numbers, which are about times.
const forgetShown = `DELETE FROM shown WHERE seq < ?1`

// Reply is what becomes of a message.
type Reply struct {
	Class chat.Class
	Turn  int64  // that answers it; 0 = none does yet, or none will
	State string // of the turn
	Card  string // that shows the turn; empty = none does yet
	Known bool   // the message is stored
}

const selectReply = `SELECT m.class, m.turn_id, COALESCE(t.state, ''), COALESCE(t.card_id, '') FROM messages m
	LEFT JOIN turns t ON t.id = m.turn_id AND m.turn_id > 0 WHERE m.chat_key = ?1 AND m.message_id = ?2`

// ReplyTo finds out what becomes of a message.
func (ts Turns) ReplyTo(ctx context.Context, key chat.Key, message string) (r Reply, err error) {
	err = ts.db.read.QueryRowContext(ctx, selectReply, key.String(), message).Scan(&r.Class, &r.Turn, &r.State, &r.Card)
	if errors.Is(err, sql.ErrNoRows) {
		return Reply{}, nil
	} else if err != nil {
		return Reply{}, fmt.Errorf("reply to %s: %w", message, err)
	}
	r.Known = true
	return r, nil
}

const sentLately = `SELECT message_id FROM messages WHERE chat_key = ?1 AND message_id > ?2 AND message_id < ?3
	AND sent_at >= ?4 ORDER BY seq DESC LIMIT 1`

// Sent is the newest message of a chat whose ID begins so, if it was written after a time, or [ErrNotFound].
func (ms Messages) Sent(ctx context.Context, key chat.Key, begins string, after time.Time) (id string, err error) {
	return queryOne(ctx, ms.db.read, scanText, sentLately, key.String(), begins, begins+"\x7f", millis(after))
}
