package db

import (
	"context"
	"fmt"

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

// ForgetButtons records that nothing more is to be done about the buttons of a turn.
func (o Outbox) ForgetButtons(ctx context.Context, turn int64) error {
	if _, err := o.db.engine.Exec(ctx, setNewestButtons, turn, ""); err != nil {
		return fmt.Errorf("forget the buttons of turn %d: %w", turn, err)
	}
	return nil
}
