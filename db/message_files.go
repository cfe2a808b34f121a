package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"magpie/internal/chat"
	"magpie/internal/text"
)

const insertFile = `INSERT INTO files (chat_key, message_id, number, kind, held_by, file_key, name, length_ms,
	state, created_at)
	VALUES (?1, ?2, (
		SELECT COALESCE(MAX(number), 0) + 1 FROM files WHERE chat_key = ?1 AND message_id = ?2
	), ?3, ?4, ?5, ?6, ?7, 'wanted', ?8)
	RETURNING number`

// insertFiles adds files to a message that is being stored. They are yet to be fetched.
func (ms Messages) insertFiles(
	ctx context.Context, tx *sql.Tx, key chat.Key, message string, files []chat.File,
) ([]chat.File, error) {
	added := make([]chat.File, len(files))
	for i, f := range files {
		f.Name = text.Mend(f.Name) // the same with both engines
		row := tx.QueryRowContext(ctx, insertFile, key.String(), message, f.Kind, f.Of, f.Key,
			f.Name, f.Length.Milliseconds(), millis(ms.db.now()))
		if err := row.Scan(&f.Number); err != nil {
			return nil, fmt.Errorf("store a file of message %s: %w", message, err)
		}
		f.State = chat.Wanted
		added[i] = f
	}
	return added, nil
}

// InsertFiles adds files to a known message, such as those of the message it quotes. It returns them with their
// numbers.
func (ms Messages) InsertFiles(
	ctx context.Context, key chat.Key, message string, files []chat.File,
) (added []chat.File, err error) {
	err = ms.db.chatTx(ctx, key, func(ctx context.Context, tx *sql.Tx) (err error) {
		added, err = ms.insertFiles(ctx, tx, key, message, files)
		return err
	})
	return added, err
}

const selectFiles = `SELECT message_id, number, kind, held_by, file_key, name, length_ms, state, path, said FROM files
	WHERE chat_key = ?1 AND message_id IN (SELECT value FROM json_each(?2)) ORDER BY message_id, number`

// loadInto adds the files to messages of a chat, with one query.
func (ms Messages) loadInto(ctx context.Context, q querier, key chat.Key, msgs []chat.Message) (err error) {
	ids, at := make([]string, len(msgs)), make(map[string]int, len(msgs))
	for i, m := range msgs {
		ids[i], at[m.ID] = m.ID, i
	}
	rows, err := q.QueryContext(ctx, selectFiles, key.String(), encodeList(ids))
	if err != nil {
		return fmt.Errorf("files of messages: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var f chat.File
		var id string
		var ms int64
		if err := rows.Scan(&id, &f.Number, &f.Kind, &f.Of, &f.Key, &f.Name, &ms, &f.State, &f.Path, &f.Said); err != nil {
			return fmt.Errorf("files of messages: %w", err)
		}
		f.Length = time.Duration(ms) * time.Millisecond
		m := &msgs[at[id]]
		m.Files = append(m.Files, f)
	}
	return rows.Err()
}

const finishFile = `UPDATE files SET state = ?4, name = ?5, path = ?6, said = ?7, size = ?8
	WHERE chat_key = ?1 AND message_id = ?2 AND number = ?3 AND state IN ('wanted', 'here')
	AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.chat_key = ?1 AND m.message_id IN (?2, files.held_by)
		AND m.state = 'recalled')`

// FinishFile stores the outcome of fetching a file, which another machine may have fetched before. A text that is not empty
// replaces that of its message. If the message, or the one that it quotes, was recalled meanwhile, nothing is stored and
// Finish returns [ErrNotFound].
func (ms Messages) FinishFile(
	ctx context.Context, key chat.Key, message string, f chat.File, size int64, text string,
) error {
	err := ms.db.chatTx(ctx, key, func(ctx context.Context, tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, finishFile, key.String(), message, f.Number, f.State, f.Name, f.Path, f.Said, size)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, ErrNotFound)
		}
		if text == "" {
			return nil
		}
		return ms.setText(ctx, tx, key, message, text)
	})
	if err != nil {
		return fmt.Errorf("store the outcome of a file of message %s: %w", message, err)
	}
	return nil
}

const heldFiles = `SELECT COALESCE(SUM(size), 0) FROM files WHERE ` + inChat + ` AND state = 'here'`

// SizeOfFiles is how many bytes the files of a chat and all its topics take.
func (ms Messages) SizeOfFiles(ctx context.Context, key chat.Key) (bytes int64, err error) {
	if err := ms.db.read.QueryRowContext(ctx, heldFiles, key.Parent().String()).Scan(&bytes); err != nil {
		return 0, fmt.Errorf("size of the files of %v: %w", key, err)
	}
	return bytes, nil
}

const (
	areOld      = ` AND created_at < ?1`
	chatsOfOld  = `SELECT DISTINCT chat_key FROM files WHERE state = 'here'` + areOld
	expireFiles = `UPDATE files SET state = 'past', path = '', said = '' WHERE state = 'here'` + areOld + ` AND chat_key = ?2`

	areLeft = areOld + ` AND NOT EXISTS (SELECT 1 FROM messages m
		WHERE m.chat_key = files.chat_key AND m.message_id = files.message_id)`
	chatsOfLeft = `SELECT DISTINCT chat_key FROM files WHERE state = 'past'` + areLeft
	forgetFiles = `DELETE FROM files WHERE state = 'past'` + areLeft + ` AND chat_key = ?2`
)

// ExpireFiles records that files from before a time are gone.
func (ms Messages) ExpireFiles(ctx context.Context, before time.Time) (files int, err error) {
	files, err = ms.db.eachChat(ctx, chatsOfOld, expireFiles, millis(before))
	if err == nil {
		_, err = ms.db.eachChat(ctx, chatsOfLeft, forgetFiles, millis(before))
	}
	if err != nil {
		return files, fmt.Errorf("note which files are past: %w", err)
	}
	return files, nil
}

// A reply also has the files and the text of the message it quotes; it may be in a topic of its own.
const filesOf = ` WHERE chat_key IN (SELECT c.key FROM chats c` + ofRoom + `)
	AND (message_id IN (SELECT value FROM json_each(?2)) OR held_by IN (SELECT value FROM json_each(?2)))`

const pathsOfMessages = `SELECT DISTINCT path FROM files` + filesOf + ` AND path <> ''`

const dropFiles = `UPDATE files SET state = 'past', path = '', said = '', name = ''` + filesOf

// deleteRecalled removes the files of recalled messages of a chat or its topics from the database, including quotes of
// them, and returns their paths for the caller to delete.
func (ms Messages) deleteRecalled(ctx context.Context, tx *sql.Tx, key chat.Key, ids []string) ([]string, error) {
	paths, err := queryAll(ctx, tx, scanText, pathsOfMessages, key.String(), encodeList(ids))
	if err != nil {
		return nil, fmt.Errorf("files of recalled messages: %w", err)
	}
	if _, err := tx.ExecContext(ctx, dropFiles, key.String(), encodeList(ids)); err != nil {
		return nil, fmt.Errorf("forget the files of recalled messages: %w", err)
	}
	return paths, nil
}

// A card is identified by the message that shows it.
const answerShownBy = `SELECT ` + messageColumns + ` FROM messages WHERE chat_key = ?1` + notRecalled + `
	AND message_id IN (
	SELECT 'answer:' || id FROM (SELECT id, card_id FROM turns WHERE chat_key = ?1 ORDER BY id DESC LIMIT 300) AS shown
	WHERE card_id = ?2 OR substr(card_id, 1, length(?2) + 1) = ?2 || '/')`

// Quoted returns a message of a chat with its files, by its platform ID; for an answer that is the ID of its
// card's message. Of an answer on several messages the text is what this one shows, see [Messages.SetPages]. It returns
// [ErrNotFound] if the message is unknown or was recalled.
func (ms Messages) Quoted(ctx context.Context, key chat.Key, id string) (chat.Message, error) {
	queries := []struct{ sql, id string }{
		{selectMessagesByID, encodeList([]string{id})}, {answerPage, id}, {answerShownBy, id},
	}
	for _, query := range queries {
		msgs, err := queryMessages(ctx, ms.db.read, key, query.sql, key.String(), query.id)
		if err == nil && len(msgs) > 0 {
			err = ms.loadInto(ctx, ms.db.read, key, msgs[:1])
		}
		if err != nil {
			return chat.Message{}, fmt.Errorf("read message %s, which is quoted: %w", id, err)
		}
		if len(msgs) > 0 {
			return msgs[0], nil
		}
	}
	return chat.Message{}, ErrNotFound
}

const (
	forgetPages = `DELETE FROM answer_pages
	WHERE answer = (SELECT id FROM messages WHERE chat_key = ?1 AND message_id = ?2)`
	insertPages = `INSERT INTO answer_pages (page_id, answer, text) SELECT j.key, m.id, j.value
	FROM messages m CROSS JOIN json_each(?3) j WHERE m.chat_key = ?1 AND m.message_id = ?2` + notRecalled + `
	ON CONFLICT (page_id) DO UPDATE SET answer = excluded.answer, text = excluded.text`
)

// SetPages stores what each message of a turn's answer shows, by the platform's message ID, for [Messages.Quoted].
// It replaces what was stored before, and is deleted with the answer. Of a turn without an answer nothing is stored.
func (ms Messages) SetPages(ctx context.Context, key chat.Key, turn int64, pages map[string]string) error {
	list, err := json.Marshal(pages)
	if err == nil {
		err = ms.db.chatTx(ctx, key, func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, forgetPages, key.String(), AnswerID(turn)); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, insertPages, key.String(), AnswerID(turn), string(list))
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("store the pages of turn %d: %w", turn, err)
	}
	return nil
}

const answerPage = `SELECT seq, epoch, turn_id, message_id, role, class, actor_id, actor_name, text, sent_at
	FROM answer_pages JOIN messages ON id = answer WHERE chat_key = ?1 AND page_id = ?2` + notRecalled
