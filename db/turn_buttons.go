package db

import (
	"context"
	"fmt"

	"magpie/internal/chat"
)

// Buttons are those of a turn's card that count as long as no newer card is in the chat.
type Buttons struct {
	Turn int64
	On   string // durable ID of the message that shows them, see [chat.Shown]
}

const (
	setNewestButtons = `UPDATE turns SET newest_buttons = ?2 WHERE id = ?1 AND newest_buttons <> ?2`
	oldButtons       = `SELECT id, newest_buttons FROM turns t INDEXED BY turns_newest_buttons
	WHERE chat_key = ?1 AND newest_buttons <> ''
	AND EXISTS (SELECT 1 FROM turns WHERE chat_key = ?1 AND id > t.id AND card_id <> '')`
)

// OldButtons lists the buttons of a chat that are to be removed, since a newer card has followed.
func (o Outbox) OldButtons(ctx context.Context, key chat.Key) ([]Buttons, error) {
	read := func(scan scanner) (b Buttons, err error) {
		err = scan(&b.Turn, &b.On)
		return b, err
	}
	old, err := queryAll(ctx, o.db.read, read, oldButtons, key.String())
	if err != nil {
		return nil, fmt.Errorf("old buttons of %v: %w", key, err)
	}
	return old, nil
}

// ForgetButtons records that nothing more is to be done about the buttons of a turn.
func (o Outbox) ForgetButtons(ctx context.Context, turn int64) error {
	if _, err := o.db.engine.Exec(ctx, setNewestButtons, turn, ""); err != nil {
		return fmt.Errorf("forget the buttons of turn %d: %w", turn, err)
	}
	return nil
}
