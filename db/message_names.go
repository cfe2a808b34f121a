package db

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// The index messages_nameless finds the messages without a name.
const (
	anyNameless = `SELECT EXISTS (SELECT 1 FROM json_each(?1) n JOIN messages m ON m.actor_id = n.key
		AND m.actor_name = '' AND m.actor_id <> '')`

	fillNames = `UPDATE messages SET actor_name = (SELECT value FROM json_each(?1) WHERE key = actor_id)
		WHERE actor_name = '' AND actor_id <> '' AND actor_id IN (SELECT key FROM json_each(?1))`
)

// Name adds people's names, by user ID, to their messages that have none.
func (ms Messages) Name(ctx context.Context, names map[string]string) error {
	list, err := json.Marshal(names)
	if err != nil {
		return fmt.Errorf("names of people: %w", err)
	}
	var some bool
	if err := ms.db.read.QueryRowContext(ctx, anyNameless, string(list)).Scan(&some); err != nil {
		return fmt.Errorf("look for messages without a name: %w", err)
	}
	if !some {
		return nil
	}
	if _, err := ms.db.engine.Exec(ctx, fillNames, string(list)); err != nil {
		return fmt.Errorf("name messages: %w", err)
	}
	return nil
}

const nameInChat = `SELECT actor_name FROM messages WHERE chat_key = ?1 AND actor_id = ?2 AND actor_name <> ''
	ORDER BY seq DESC LIMIT 1`

// NameOf is the name under which a user last wrote in the private chat with the bot; empty = unknown.
func (ms Messages) NameOf(ctx context.Context, user string) (string, error) {
	key, err := ms.db.Chats().PrivateChat(ctx, user)
	if errors.Is(err, ErrNotFound) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	name, err := queryOne(ctx, ms.db.read, scanText, nameInChat, key.String(), user)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return "", fmt.Errorf("name of %s: %w", user, err)
	}
	return name, nil
}
