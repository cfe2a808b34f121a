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
	WHERE t.id = ?2 AND t.chat_key = ?1 AND t.state IN ('done', 'failed') AND t.epoch = c.epoch AND NOT EXISTS (
		SELECT 1 FROM messages m WHERE m.chat_key = ?1 AND m.turn_id > ?2 AND m.turn_id > 0)`

// checkLast returns [ErrNotFound] if something was asked in the chat after a turn, or another conversation has begun.
func checkLast(ctx context.Context, tx *sql.Tx, key chat.Key, turn int64) error {
	err := tx.QueryRowContext(ctx, isLastTurn, key.String(), turn).Scan(new(int64))
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	return err
}

// Suggest enqueues the card of an ended turn with a suggested next question. It returns [ErrNotFound] if another
// question was already asked.
func (ts Turns) Suggest(ctx context.Context, t Turn, card chat.Card) error {
	err := ts.db.engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := checkLast(ctx, tx, t.Key, t.ID); err != nil {
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
// require.
type IfLast struct{ Turn int64 }

func (e IfLast) apply(ctx context.Context, tx *sql.Tx, a *acceptance) error {
	return checkLast(ctx, tx, a.in.Key, e.Turn)
}
