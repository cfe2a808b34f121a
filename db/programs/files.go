package programs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"magpie/internal/chat"
)

const (
	insertFile = `INSERT INTO program_files (id, chat_key, content, created_at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (id) DO NOTHING`
	selectFile = `SELECT content FROM program_files WHERE id = ?1 AND (chat_key = ?2 OR ?2 = '')`
)

// AddFile stores a file of a chat. The same ID is the same file.
func (s Store) AddFile(ctx context.Context, key chat.Key, id string, content []byte) error {
	err := s.Tx(ctx, "file "+id, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, insertFile, id, key.String(), content, s.Now().UnixMilli())
		return err
	})
	if err != nil {
		return fmt.Errorf("store a file of %v: %w", key, err)
	}
	return nil
}

// File returns a file, or [ErrNotShown]; one of that chat only, unless it is the zero key.
func (s Store) File(ctx context.Context, key chat.Key, id string) (content []byte, err error) {
	of := ""
	if key != (chat.Key{}) {
		of = key.String()
	}
	err = s.Readers.QueryRowContext(ctx, selectFile, id, of).Scan(&content)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, ErrNotShown
	} else if err != nil {
		return nil, fmt.Errorf("file %s: %w", id, err)
	}
	return content, nil
}
