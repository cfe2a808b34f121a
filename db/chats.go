package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"magpie/internal/chat"
)

// Chat is what is known of one conversation beside its History.
type Chat struct {
	Key            chat.Key
	Kind           chat.Kind
	Title          string
	Lang           string // "zh", "en", or empty when nothing was said yet
	ProjectPath    string // empty = the configured one
	PermissionMode string // empty = the configured one
	Epoch          int64
	Session        Session
}

const selectChat = `SELECT kind, title, lang, project_path, permission_mode, epoch,
	session_id, session_node, session_cwd, session_turn FROM chats WHERE key = ?1`

// querier is what *sql.DB and *sql.Tx share.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func loadChat(ctx context.Context, q querier, key chat.Key) (Chat, error) {
	c := Chat{Key: key}
	err := q.QueryRowContext(ctx, selectChat, key.String()).Scan(&c.Kind, &c.Title, &c.Lang, &c.ProjectPath,
		&c.PermissionMode, &c.Epoch, &c.Session.ID, &c.Session.Node, &c.Session.Cwd, &c.Session.Turn)
	if errors.Is(err, sql.ErrNoRows) {
		return Chat{}, ErrNotFound
	} else if err != nil {
		return Chat{}, fmt.Errorf("load chat %v: %w", key, err)
	}
	return c, nil
}

// Chat returns what is known of a chat, or [ErrNotFound].
func (d *DB) Chat(ctx context.Context, key chat.Key) (Chat, error) { return d.hotChat(ctx, key) }

const upsertChat = `INSERT INTO chats (no, key, kind, title, lang) VALUES ((SELECT COALESCE(MAX(no), 0) + 1 FROM chats), ?1, ?2, ?3, ?4)
	ON CONFLICT (key) DO UPDATE SET kind = excluded.kind,
	title = CASE WHEN excluded.title = '' THEN chats.title ELSE excluded.title END,
	lang = CASE WHEN excluded.lang = '' THEN chats.lang ELSE excluded.lang END`

const raiseEpoch = `UPDATE chats SET epoch = epoch + 1,
	session_id = '', session_node = '', session_cwd = '', session_turn = 0 WHERE key = ?1`

const setProject = `UPDATE chats SET project_path = ?2, permission_mode = ?3 WHERE key = ?1`

// SetProject binds the chat to a project path and a permission mode; empty means the configured one.
func (d *DB) SetProject(ctx context.Context, key chat.Key, path, mode string) error {
	res, err := d.exec(ctx, setProject, key.String(), path, mode)
	if err != nil {
		return fmt.Errorf("set project of %v: %w", key, err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, ErrNotFound)
	}
	return nil
}
