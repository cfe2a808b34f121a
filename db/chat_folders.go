package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"magpie/internal/chat"
)

// Folders stores the folders in which chats' agents keep their state.
type Folders struct{ db *DB }

// Folders returns the agents' folders in the database.
func (d *DB) Folders() Folders { return Folders{d} }

const (
	selectFolder = `SELECT id FROM agent_folders WHERE chat_key = ?1`
	insertFolder = `INSERT INTO agent_folders (chat_key, id) VALUES (?1, ?2) ON CONFLICT (chat_key) DO NOTHING`
	chatOfFolder = `SELECT chat_key FROM agent_folders WHERE id = ?1`
)

// Get is the ID of a chat's folder, or [ErrNotFound].
func (f Folders) Get(ctx context.Context, key chat.Key) (id string, err error) {
	err = f.db.read.QueryRowContext(ctx, selectFolder, key.String()).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", ErrNotFound
	} else if err != nil {
		return "", fmt.Errorf("folder of %v: %w", key, f.db.engine.Explain(err))
	}
	return id, nil
}

// FindOrCreate is the ID of a chat's folder, which it creates if necessary.
func (f Folders) FindOrCreate(ctx context.Context, key chat.Key) (id string, err error) {
	if id, err = f.Get(ctx, key); !errors.Is(err, ErrNotFound) {
		return id, err
	}
	return f.Bind(ctx, key, uuid.NewString())
}

// Bind assigns an unassigned folder to a chat, and returns the ID of the chat's folder: a different one if the chat
// already had one.
func (f Folders) Bind(ctx context.Context, key chat.Key, id string) (string, error) {
	if _, err := f.db.engine.Exec(ctx, insertFolder, key.String(), id); err != nil {
		return "", fmt.Errorf("folder of %v: %w", key, err)
	}
	return f.Get(ctx, key)
}

// Chat is the chat of a folder, or [ErrNotFound].
func (f Folders) Chat(ctx context.Context, id string) (chat.Key, error) {
	var key string
	err := f.db.read.QueryRowContext(ctx, chatOfFolder, id).Scan(&key)
	if errors.Is(err, sql.ErrNoRows) {
		return chat.Key{}, ErrNotFound
	} else if err != nil {
		return chat.Key{}, fmt.Errorf("chat of the folder %s: %w", id, f.db.engine.Explain(err))
	}
	return chat.ParseKey(key)
}
