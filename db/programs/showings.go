package programs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"magpie/db/engine"
	"magpie/internal/chat"
)

// Showing is a text or a card as it looks now. Nothing is sent to programs: they ask for it, at whichever bridge, and again
// after their connection was cut.
type Showing struct {
	ID      string
	Seq     int64  // grows with each change in the chat
	Content string // JSON
}

// ErrNotShown means that nothing of that ID was shown, or so long ago that it was deleted.
var ErrNotShown = errors.New("it is not shown")

// put also runs when the rows before it have been deleted: the number must grow anyway.
const (
	put = `INSERT INTO shown (chat_key, id, seq, content)
		SELECT ?1, ?2, CASE WHEN latest >= ?3 THEN latest + 1 ELSE ?3 END, ?4
		FROM (SELECT COALESCE(MAX(seq), 0) AS latest FROM shown WHERE chat_key = ?1) AS last WHERE 1 = 1
		ON CONFLICT (chat_key, id) DO `
	show = put + `UPDATE SET seq = excluded.seq, content = excluded.content`
	note = put + `NOTHING`
)

// Show stores how something looks now.
func (s Store) Show(ctx context.Context, key chat.Key, id, content string) error {
	return s.put(ctx, show, key, id, content)
}

// Note notes that something of that ID came, once, and returns the number of that change.
func (s Store) Note(ctx context.Context, key chat.Key, id string) (seq int64, err error) {
	if err := s.put(ctx, note, key, id, "{}"); err != nil {
		return 0, err
	}
	noted, err := s.Get(ctx, key, id)
	return noted.Seq, err
}

func (s Store) put(ctx context.Context, how string, key chat.Key, id, content string) error {
	// Whoever has read up to a number must not miss what is committed later: one after the other in a chat.
	err := s.Tx(ctx, "shown in "+key.String(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, how, key.String(), id, s.Now().UnixMilli(), content)
		return err
	})
	if err != nil {
		return fmt.Errorf("store what is shown to a program: %w", err)
	}
	return nil
}

const selectShown = `SELECT id, seq, content FROM shown WHERE chat_key = ?1 AND seq > ?2 ORDER BY seq LIMIT 100`

// Since lists what has changed in a chat after a number, in that order: a hundred changes at most.
func (s Store) Since(ctx context.Context, key chat.Key, after int64) ([]Showing, error) {
	return engine.All(ctx, s.Readers, what, scanShowing, selectShown, key.String(), after)
}

const newest = `SELECT COALESCE(MAX(seq), 0) FROM shown WHERE chat_key = ?1`

// Newest is the number of the latest change in a chat; 0 = nothing was shown there.
func (s Store) Newest(ctx context.Context, key chat.Key) (seq int64, err error) {
	if err := s.Readers.QueryRowContext(ctx, newest, key.String()).Scan(&seq); err != nil {
		return 0, fmt.Errorf("newest in %v: %w", key, err)
	}
	return seq, nil
}

const selectShowing = `SELECT id, seq, content FROM shown WHERE chat_key = ?1 AND id = ?2`

// Get returns how something looks now, or [ErrNotShown].
func (s Store) Get(ctx context.Context, key chat.Key, id string) (Showing, error) {
	return engine.One(ctx, s.Readers, what, ErrNotShown, scanShowing, selectShowing, key.String(), id)
}

func scanShowing(rows *sql.Rows) (s Showing, err error) {
	err = rows.Scan(&s.ID, &s.Seq, &s.Content)
	return s, err
}

const (
	forget      = `DELETE FROM shown WHERE seq < ?1` // by the numbers, which are about times
	forgetFiles = `DELETE FROM program_files WHERE created_at < ?1`
)

// Forget deletes what was last changed before a time, and files and passing names of chats that are older.
func (s Store) Forget(ctx context.Context, before time.Time) error {
	return s.Tx(ctx, "sweep", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, forget, before.UnixMilli())
		if err == nil {
			_, err = tx.ExecContext(ctx, forgetFiles, before.UnixMilli())
		}
		if err == nil {
			_, err = tx.ExecContext(ctx, forgetAsked)
		}
		if err == nil {
			_, err = tx.ExecContext(ctx, forgetRooms, before.UnixMilli(), Passing+"\x7f", Passing)
		}
		return err
	})
}

// Reply is what becomes of a message; zero = it is not stored yet.
type Reply struct {
	Actor string // who has written it
	Turn  int64  // that answers it; 0 = none does yet, or none will
	State string // of the turn
	Card  string // that shows the turn; empty = none does yet
	Waits bool   // something of the turn is still to be shown
}

const selectReply = `SELECT m.actor_id, m.turn_id, COALESCE(t.state, ''), COALESCE(t.card_id, ''),
	EXISTS (SELECT 1 FROM outbox o WHERE o.chat_key = m.chat_key AND o.turn_id = t.id) FROM messages m
	LEFT JOIN turns t ON t.id = m.turn_id AND m.turn_id > 0 WHERE m.chat_key = ?1 AND m.message_id = ?2`

// ReplyTo finds out what becomes of a message.
func (s Store) ReplyTo(ctx context.Context, key chat.Key, message string) (r Reply, err error) {
	err = s.Readers.QueryRowContext(ctx, selectReply, key.String(), message).Scan(&r.Actor, &r.Turn, &r.State, &r.Card, &r.Waits)
	if errors.Is(err, sql.ErrNoRows) {
		return Reply{}, nil
	} else if err != nil {
		return Reply{}, fmt.Errorf("reply to %s: %w", message, err)
	}
	return r, nil
}

const shownLately = `SELECT id, seq, content FROM shown WHERE chat_key = ?1 AND id > ?2 AND id < ?3 AND seq >= ?4
	ORDER BY seq DESC LIMIT 1`

// Latest is the newest of those whose ID begins so, if it was changed after a time, or [ErrNotShown].
func (s Store) Latest(ctx context.Context, key chat.Key, begins string, after time.Time) (Showing, error) {
	return engine.One(ctx, s.Readers, what, ErrNotShown, scanShowing, shownLately, key.String(), begins, begins+"\x7f", after.UnixMilli())
}

const selectAnswer = `SELECT content FROM messages WHERE chat_key = ?1 AND turn_id = ?2 AND turn_id > 0 AND role = 'assistant'
	ORDER BY seq DESC LIMIT 1`

// Answer is the answer of a turn in the History; empty = there is none.
func (s Store) Answer(ctx context.Context, key chat.Key, turn int64) (text string, err error) {
	err = s.Readers.QueryRowContext(ctx, selectAnswer, key.String(), turn).Scan(&text)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("answer of turn %d: %w", turn, err)
	}
	return text, nil
}

const tokensOfTurn = `SELECT COALESCE(SUM(tokens), 0), COALESCE(SUM(written), 0) FROM ledger WHERE chat_key = ?1 AND turn_id = ?2
	AND at >= (SELECT created_at FROM turns WHERE id = ?2)`

// TokensOf is how many tokens of the model a turn has used, and how many of these the model has written.
func (s Store) TokensOf(ctx context.Context, key chat.Key, turn int64) (used, written int64, err error) {
	if err := s.Readers.QueryRowContext(ctx, tokensOfTurn, key.String(), turn).Scan(&used, &written); err != nil {
		return 0, 0, fmt.Errorf("tokens of turn %d: %w", turn, err)
	}
	return used, written, nil
}
