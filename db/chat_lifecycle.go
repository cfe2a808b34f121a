package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"magpie/internal/chat"
)

// Summary replaces the compacted part of a chat's History.
type Summary struct {
	Text  string    // empty = there is none
	Seq   int64     // of the last message covered; 0 = none
	Until time.Time // when that message was written
}

// noSession resets all columns of a chat's session at once, so that no statement forgets one.
const noSession = `session_id = '', session_node = '', session_cwd = '', session_turn = 0,
	session_tokens = 0, session_window = 0`

// Asking for a summary counts as activity.
const compactChat = `UPDATE chats SET summary = ?4, summary_seq = ?3, summary_at = ?5, ` + noSession + `,
	turned_at = CASE WHEN compact_for <> '' AND turned_at > 0 THEN ?6 ELSE turned_at END
	WHERE key = ?1 AND epoch = ?2 AND summary_seq = ?7 AND (summary_seq < ?3 OR summary_seq = 0)
	AND (restart_seq < ?3 OR restart_seq = 0)`

// Compaction is a summary of a part of a chat's History.
type Compaction struct {
	Key     chat.Key
	Epoch   int64
	Before  Summary  // the chat's previous summary, which this one extends
	Of      []string // IDs of the summarized messages
	Summary Summary
	Reply   string // the reply to whoever asked for it
}

// Compact stores a summary and drops the session: the next one starts with the summary and the messages after it.
// Whoever asked for it gets the reply. No turn of the chat may be running. If the chat has started a new conversation,
// has another summary, or one of the summarized messages was recalled, nothing is changed and Compact returns
// [ErrNotFound]. Without a new summary it only replies.
func (cs Chats) Compact(ctx context.Context, c Compaction) error {
	err := cs.db.chatTx(ctx, c.Key, func(ctx context.Context, tx *sql.Tx) error {
		if c.Summary == (Summary{}) {
			return cs.answerCompaction(ctx, tx, c.Key, c.Reply)
		}
		if err := cs.db.Messages().requireAll(ctx, tx, c.Key, c.Of); err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, compactChat, c.Key.String(), c.Epoch, c.Summary.Seq, c.Summary.Text,
			millis(c.Summary.Until),
			millis(cs.db.now()), c.Before.Seq)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, ErrNotFound)
		}
		// Sessions of other machines hold the uncompacted conversation, too.
		if _, err := tx.ExecContext(ctx, forgetSessionsAside, c.Key.String()); err != nil {
			return err
		}
		return cs.answerCompaction(ctx, tx, c.Key, c.Reply)
	})
	if err != nil {
		return fmt.Errorf("compact %v: %w", c.Key, err)
	}
	return nil
}

const compactAsked = `SELECT compact_for, compact_reply FROM chats WHERE key = ?1 AND compact_for <> ''`

const setCompact = `UPDATE chats SET compact_for = ?2, compact_reply = ?3 WHERE key = ?1`

// answerCompaction answers whoever asked for the compaction, in the transaction that ends it: after a
// crash the request is either open or answered, never both.
func (cs Chats) answerCompaction(ctx context.Context, tx *sql.Tx, key chat.Key, reply string) error {
	var asked, answered string
	if err := tx.QueryRowContext(ctx, compactAsked, key.String()).Scan(&asked, &answered); errors.Is(err, sql.ErrNoRows) {
		return nil
	} else if err != nil {
		return err
	}
	if err := cs.db.Outbox().post(
		ctx, tx, Post{Key: key, Idem: "reply:" + asked, ReplyTo: answered, Text: reply},
	); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, setCompact, key.String(), "", "")
	return err
}

const awaitedCompactions = `SELECT key FROM chats WHERE compact_for <> ''`

// AwaitedCompactions lists the chats with an open request for a summary.
func (cs Chats) AwaitedCompactions(ctx context.Context) ([]chat.Key, error) {
	return cs.db.ownKeys(ctx, awaitedCompactions)
}

const restartContext = `UPDATE chats SET restart_seq = ?3, summary = '', summary_seq = 0, summary_at = 0, ` + noSession + `
	WHERE key = ?1 AND epoch = ?2`

// RestartContext makes the context of a chat begin after the message with that seq, without session and summary. Unlike
// a new epoch it does not hide earlier messages.
func (cs Chats) RestartContext(ctx context.Context, key chat.Key, epoch, seq int64) error {
	err := cs.db.chatTx(ctx, key, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, restartContext, key.String(), epoch, seq)
		if err == nil {
			_, err = tx.ExecContext(ctx, forgetSessionsAside, key.String())
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("reset %v: %w", key, err)
	}
	return nil
}

const (
	setTopic    = `UPDATE chats SET topic = ?3 WHERE key = ?1 AND epoch = ?2 AND topic = ''`
	changeTopic = `UPDATE chats SET topic = ?2 WHERE key = ?1`

	// The title of a conversation is kept in case the conversation is resumed.
	keepTopic = `INSERT INTO titles (chat_key, epoch, title) SELECT key, epoch, topic FROM chats
		WHERE key = ?1 AND topic <> '' ON CONFLICT (chat_key, epoch) DO UPDATE SET title = excluded.title`
	pastTopic = `UPDATE chats SET topic = COALESCE((SELECT title FROM titles WHERE chat_key = ?1 AND epoch = ?2), '')
		WHERE key = ?1 AND ?3 > 0`
	dropTopic = `DELETE FROM titles WHERE chat_key = ?1 AND epoch = ?2 AND ?3 > 0`
)

// SetTopic sets the title of a conversation of the chat, if it is the current one and has none. If one of the messages
// that the title was made of was recalled, it returns [ErrNotFound].
func (cs Chats) SetTopic(ctx context.Context, key chat.Key, epoch int64, topic string, of []string) error {
	err := cs.db.chatTx(ctx, key, func(ctx context.Context, tx *sql.Tx) error {
		err := cs.db.Messages().requireAll(ctx, tx, key, of)
		if err == nil {
			_, err = tx.ExecContext(ctx, setTopic, key.String(), epoch, topic)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("set topic of %v: %w", key, err)
	}
	return nil
}
