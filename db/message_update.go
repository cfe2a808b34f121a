package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"magpie/internal/chat"
)

// notRecalled excludes recalled and replaced messages. Every query that contributes to a later context must contain it.
const notRecalled = ` AND state = ''`

const selectStored = `SELECT id, (SELECT no FROM chats WHERE key = chat_key), ` + messageColumns + ` FROM messages
	WHERE chat_key = ?1 AND message_id = ?2`

const setContent = `UPDATE messages SET content = ?2 WHERE id = ?1`

// setText replaces the text of a message whose content arrives later than the message itself, and
// indexes the new text.
func (ms Messages) setText(ctx context.Context, tx *sql.Tx, key chat.Key, message, text string) error {
	var id, no, upto int64
	m, err := scanStored(ctx, tx, key, message, &id, &no)
	if err != nil {
		return err
	}
	m.Text = text
	if _, err := tx.ExecContext(ctx, setContent, id, text); err != nil {
		return fmt.Errorf("update message %s: %w", message, err)
	}
	if err := ms.db.Search().forget(ctx, tx, storedRow{id, indexRow(no) + m.Seq}); err != nil {
		return err
	}
	// Only if the index has already passed this message; otherwise it will read the new text by itself.
	if err := tx.QueryRowContext(ctx, selectIndexed).Scan(&upto); err != nil || id > upto || !findable(m) {
		return err
	}
	_, err = tx.ExecContext(ctx, insertTerms, indexRow(no)+m.Seq, strings.Join(indexTerms(m), " "))
	return err
}

// scanStored loads a message with its row ID and its chat's number, or returns [ErrNotFound].
func scanStored(
	ctx context.Context, tx *sql.Tx, key chat.Key, message string, id, no *int64,
) (m chat.Message, err error) {
	rows, err := tx.QueryContext(ctx, selectStored, key.String(), message)
	if err != nil {
		return m, fmt.Errorf("load message %s: %w", message, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if !rows.Next() {
		return m, errors.Join(rows.Err(), ErrNotFound)
	}
	return scanMessage(rows, key, id, no)
}

// forget removes a message from the search index.
func (s Search) forget(ctx context.Context, tx *sql.Tx, m storedRow) error {
	s.db.indexing.invalidate()
	if _, err := tx.ExecContext(ctx, deleteEmbedding, m.id); err != nil {
		return fmt.Errorf("delete the vector of a message: %w", err)
	}
	if _, err := tx.ExecContext(ctx, deleteTerms, m.row); err != nil {
		return fmt.Errorf("delete a message from the index: %w", err)
	}
	return nil
}
