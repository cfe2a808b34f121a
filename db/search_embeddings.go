package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"magpie/internal/chat"
)

// Unembedded is a message without a vector, or with one that is to be stored.
type Unembedded struct {
	ID     int64 // grows in the order of storing, but is reused when the newest messages are deleted
	Text   string
	Vector []byte
	chat   chat.Key
	seq    int64
}

const selectUnembedded = `SELECT m.id, m.content, m.chat_key, m.seq FROM messages m NOT INDEXED
	WHERE m.id > ?3 AND m.id < ?4 AND m.class = 'talk' AND m.role IN ('user', 'assistant')` + notRecalled + `
	AND m.epoch = (SELECT c.epoch FROM chats c WHERE c.key = m.chat_key)
	AND NOT EXISTS (SELECT 1 FROM embeddings e WHERE e.chat_key = m.chat_key AND e.epoch = m.epoch AND e.seq = m.seq
		AND e.model = ?1 AND (e.dim = ?2 OR ?2 = 0))
	ORDER BY m.id DESC LIMIT ?5`

// Unembedded lists messages of all chats without a vector of this model and dimension (0 = any dimension):
// the newest first, up to a maximum, with ids between after and before.
func (s Search) Unembedded(
	ctx context.Context, model string, dim int, after, before int64, most int,
) ([]Unembedded, error) {
	list, err := queryAll(ctx, s.db.read, scanUnembedded, selectUnembedded, model, dim, after, before, most)
	if err != nil {
		return nil, fmt.Errorf("messages without a vector: %w", err)
	}
	return list, nil
}

func scanUnembedded(scan scanner) (u Unembedded, err error) {
	var key string
	if err := scan(&u.ID, &u.Text, &key, &u.seq); err != nil {
		return u, err
	}
	u.chat, err = chat.ParseKey(key)
	return u, err
}

// The message may have been deleted since it was read.
const saveEmbedding = `INSERT INTO embeddings (chat_key, epoch, seq, model, dim, vector)
	SELECT chat_key, epoch, seq, ?3, ?4, ?5 FROM messages WHERE chat_key = ?1 AND seq = ?2` + notRecalled + `
	ON CONFLICT (chat_key, epoch, seq) DO UPDATE SET model = excluded.model, dim = excluded.dim, vector = excluded.vector`

// SaveEmbeddings stores vectors of a model. They replace those of other models.
func (s Search) SaveEmbeddings(ctx context.Context, model string, list []Unembedded) error {
	keys := make([]chat.Key, len(list))
	for i, e := range list {
		keys[i] = e.chat
	}
	err := s.db.chatsTx(ctx, keys, func(ctx context.Context, tx *sql.Tx) error {
		for _, e := range list {
			_, err := tx.ExecContext(ctx, saveEmbedding, e.chat.String(), e.seq, model, len(e.Vector), e.Vector)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("store vectors: %w", err)
	}
	return nil
}

const selectEmbeddings = `SELECT seq, vector FROM embeddings WHERE chat_key = ?1 AND epoch = ?2 AND model = ?3
	AND dim = ?4
	ORDER BY seq DESC LIMIT ?5`

// Embeddings passes the vectors of one conversation with this model and dimension to f, newest first, up to a maximum.
// A vector is valid only until f returns, because the driver reuses its memory.
func (s Search) Embeddings(
	ctx context.Context, key chat.Key, epoch int64, model string, dim, most int, f func(seq int64, vector []byte),
) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("vectors of %v: %w", key, err)
		}
	}()
	rows, err := s.db.read.QueryContext(ctx, selectEmbeddings, key.String(), epoch, model, dim, most)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var seq int64
	var vector sql.RawBytes
	for rows.Next() {
		if err := rows.Scan(&seq, &vector); err != nil {
			return err
		}
		f(seq, vector)
	}
	return rows.Err()
}
