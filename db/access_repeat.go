package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"magpie/internal/chat"
)

// A card that has not been shown yet notifies people by itself.
const repeatApproval = `UPDATE approvals SET repeated_at = ?2 WHERE id = ?1 AND state = 'waiting'
	AND repeated_at = 0 AND card_id <> ''
	RETURNING card_id`

func reminderIdem(approval string) string { return "repeat:" + approval }

// Remind enqueues a reminder about an undecided approval, as a reply to its card. It returns [ErrNotFound] if there was
// a reminder before, or there is nothing to decide, or the chat wants no notifications.
func (as Access) Remind(ctx context.Context, a Approval, text string, users []string) error {
	err := as.db.engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		c, err := loadChat(ctx, tx, a.Key)
		if err != nil {
			return err
		}
		if c.Settings.Notify == NotifyOff {
			return ErrNotFound
		}
		card, err := queryOne(ctx, tx, scanText, repeatApproval, a.ID, millis(as.db.now()))
		if err != nil {
			return err
		}
		return as.db.Outbox().post(ctx, tx, Post{
			Key: a.Key, Idem: reminderIdem(a.ID), ReplyTo: chat.FirstMessage(card), Text: text, Mentions: users,
		})
	})
	if errors.Is(err, ErrNotFound) {
		return ErrNotFound
	} else if err != nil {
		return fmt.Errorf("repeat approval %s: %w", a.ID, err)
	}
	return nil
}

const forgetCall = `DELETE FROM outbox WHERE idem = ?1`
