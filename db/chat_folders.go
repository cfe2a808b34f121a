package db

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"magpie/internal/chat"
)

const (
	selectFolder = `SELECT id FROM agent_folders WHERE chat_key = ?1`
	insertFolder = `INSERT INTO agent_folders (chat_key, id) VALUES (?1, ?2) ON CONFLICT (chat_key) DO NOTHING`
	chatOfFolder = `SELECT chat_key FROM agent_folders WHERE id = ?1`
)

// Folder is the ID of a chat's folder, or [ErrNotFound].
func (cs Chats) Folder(ctx context.Context, key chat.Key) (id string, err error) {
	err = cs.db.read.QueryRowContext(ctx, selectFolder, key.String()).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", ErrNotFound
	} else if err != nil {
		return "", fmt.Errorf("folder of %v: %w", key, cs.db.engine.Explain(err))
	}
	return id, nil
}

// MakeFolder is the ID of a chat's folder. A chat without one gets this one, or a new one if id is empty.
func (cs Chats) MakeFolder(ctx context.Context, key chat.Key, id string) (string, error) {
	if is, err := cs.Folder(ctx, key); !errors.Is(err, ErrNotFound) {
		return is, err
	}
	if _, err := cs.db.engine.Exec(ctx, insertFolder, key.String(), cmp.Or(id, uuid.NewString())); err != nil {
		return "", fmt.Errorf("folder of %v: %w", key, err)
	}
	return cs.Folder(ctx, key) // another one may have come first
}

// ChatOfFolder is the chat of a folder, or [ErrNotFound].
func (cs Chats) ChatOfFolder(ctx context.Context, id string) (chat.Key, error) {
	var key string
	err := cs.db.read.QueryRowContext(ctx, chatOfFolder, id).Scan(&key)
	if errors.Is(err, sql.ErrNoRows) {
		return chat.Key{}, ErrNotFound
	} else if err != nil {
		return chat.Key{}, fmt.Errorf("chat of the folder %s: %w", id, cs.db.engine.Explain(err))
	}
	return chat.ParseKey(key)
}
