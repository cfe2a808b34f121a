package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"magpie/internal/chat"
)

// SuggestionID is the message ID of the question suggested after a turn: it is asked once, however often its button is
// pressed.
func SuggestionID(turn int64) string { return PressID(fmt.Sprintf("suggestion:%d", turn)) }

const isLastTurn = `SELECT t.id FROM turns t JOIN chats c ON c.key = t.chat_key
	WHERE t.id = ?2 AND t.chat_key = ?1 AND t.epoch = c.epoch AND (?3 OR t.state IN ('done', 'failed') AND NOT EXISTS (
		SELECT 1 FROM messages m WHERE m.chat_key = ?1 AND m.turn_id > ?2 AND m.turn_id > 0))`

// checkLast returns [ErrNotFound] if another conversation has begun in the chat after a turn, or if something was asked,
// unless more may have been.
func checkLast(ctx context.Context, tx *sql.Tx, key chat.Key, turn int64, more bool) error {
	err := tx.QueryRowContext(ctx, isLastTurn, key.String(), turn, more).Scan(new(int64))
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	return err
}

// Suggest enqueues the card of an ended turn with a suggested next question. It returns [ErrNotFound] if another
// question was already asked.
func (ts Turns) Suggest(ctx context.Context, t Turn, card chat.Card) error {
	err := ts.db.engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := checkLast(ctx, tx, t.Key, t.ID, false); err != nil {
			return err
		}
		return ts.db.Outbox().post(ctx, tx, Post{
			Key: t.Key, Turn: t.ID, Idem: cardIdem(t, "suggestion"), ReplyTo: t.ReplyTo, Card: &card,
		})
	})
	if err != nil {
		return fmt.Errorf("suggest a question behind turn %d: %w", t.ID, err)
	}
	return nil
}

// IfLast rejects the message with [ErrNotFound] if something was asked after the turn, as the buttons below its answer
// require, or if its conversation is over.
type IfLast struct {
	Turn int64
	More bool // in its conversation more may have been asked since
}

func (e IfLast) apply(ctx context.Context, tx *sql.Tx, a *acceptance) error {
	return checkLast(ctx, tx, a.in.Key, e.Turn, e.More)
}
