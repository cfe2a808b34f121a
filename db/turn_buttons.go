package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"magpie/internal/chat"
)

const (
	setNewestButtons = `UPDATE turns SET newest_buttons = ?2 WHERE id = ?1 AND newest_buttons <> ?2`
	oldButtons       = `SELECT id, newest_buttons FROM turns t INDEXED BY turns_newest_buttons
	WHERE chat_key = ?1 AND newest_buttons <> ''
	AND EXISTS (SELECT 1 FROM turns WHERE chat_key = ?1 AND id > t.id AND card_id <> '')`
)

// OldButtons lists the buttons of a chat that are to be removed, since a newer card has followed: by turn, the durable ID
// of the message that shows them, see [chat.Shown].
func (o Outbox) OldButtons(ctx context.Context, key chat.Key) (map[int64]string, error) {
	old := map[int64]string{}
	_, err := queryAll(ctx, o.db.read, func(scan scanner) (none struct{}, err error) {
		var turn int64
		var on string
		if err = scan(&turn, &on); err == nil {
			old[turn] = on
		}
		return none, err
	}, oldButtons, key.String())
	if err != nil {
		return nil, fmt.Errorf("old buttons of %v: %w", key, err)
	}
	return old, nil
}

// ForgetButtons records that nothing more is to be done about the buttons of a turn of a chat.
func (o Outbox) ForgetButtons(ctx context.Context, key chat.Key, turn int64) error {
	if err := o.db.chatExec(ctx, key, setNewestButtons, turn, ""); err != nil {
		return fmt.Errorf("forget the buttons of turn %d: %w", turn, err)
	}
	return nil
}

const isLastTurn = `SELECT t.id FROM turns t JOIN chats c ON c.key = t.chat_key
	WHERE t.id = ?2 AND t.chat_key = ?1 AND t.epoch = c.epoch AND (?3 = 1 OR t.state IN ('done', 'failed') AND NOT EXISTS (
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
	err := ts.db.chatTx(ctx, t.Key, func(ctx context.Context, tx *sql.Tx) error {
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

// PressID is the message ID of a pressed button that asks a question. It is derived from the platform's event ID, so a
// repeated event is one message.
func PressID(event string) string { return pressPrefix + event }

// IsPressID reports whether the ID of a message in the History is that of a pressed button: the platform knows no
// message of this ID.
func IsPressID(id string) bool {
	return strings.HasPrefix(id, pressPrefix) || strings.HasPrefix(id, continuePrefix)
}

// The prefixes of pressed buttons' message IDs: of any question, and of one that continues a turn.
const (
	pressPrefix    = "press:"
	continuePrefix = "continue:"
)

// ForeignID is the message ID of a message to another program, made from an ID there. The platform knows no message of
// this ID, so nothing follows from it about which of its messages are known.
func ForeignID(program, id string) string { return foreignPrefix + program + ":" + id }

const foreignPrefix = "foreign:"

// written excludes pressed buttons, see [IsPressID]: nobody wrote them, and they cannot be replied to. It also excludes
// messages to other programs.
const written = ` AND message_id NOT LIKE '` + pressPrefix + `%' AND message_id NOT LIKE '` + continuePrefix + `%'` +
	` AND message_id NOT LIKE '` + foreignPrefix + `%'`

// isWritten says of a message ID what [written] says.
func isWritten(id string) bool { return !IsPressID(id) && !strings.HasPrefix(id, foreignPrefix) }
