package db

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"magpie/db/engine"
	"magpie/db/sqlite"
	"magpie/internal/chat"
	"magpie/internal/tokenize"
)

// The index of the History by terms. Messages are indexed in batches, at a tenth of the cost, concurrently with the
// writes that store them: see [indexer]. Few enough messages are not indexed yet to scan them.
const indexBatch = 256

const selectIndexed = `SELECT upto FROM indexed`

const setIndexed = `UPDATE indexed SET upto = ?1`

const selectToIndex = `SELECT id, (SELECT no FROM chats WHERE key = chat_key), seq, role, class, content, sent_at
	FROM messages WHERE id > ?1` + notRecalled + ` ORDER BY id LIMIT ?2`

const insertTerms = `INSERT INTO terms (rowid, list) VALUES (?1, ?2)`

// indexMore indexes the next messages, and reports whether there were any.
func indexMore(ctx context.Context, tx *sql.Tx, most int) (bool, error) {
	var upto int64
	if err := tx.QueryRowContext(ctx, selectIndexed).Scan(&upto); err != nil {
		return false, fmt.Errorf("state of the index: %w", err)
	}
	list, last, err := toIndex(ctx, tx, upto, most)
	if err != nil {
		return false, fmt.Errorf("read messages to index: %w", err)
	}
	if last == upto {
		return false, nil
	}
	rows, err := indexRows(list)
	if err != nil {
		return false, err
	}
	if err := insertRows(ctx, tx, rows); err != nil {
		return false, err
	}
	if _, err := tx.ExecContext(ctx, setIndexed, last); err != nil {
		return false, fmt.Errorf("record the state of the index: %w", err)
	}
	return true, nil
}

// indexEntry is a message to be indexed.
type indexEntry struct {
	chat.Message
	no int64 // of its chat
}

func (e indexEntry) row() int64 { return indexRow(e.no) + e.Seq }

// sortEntries sorts in the order of the index: SQLite would write the index out at each step back.
func sortEntries(list []indexEntry) {
	slices.SortFunc(list, func(a, b indexEntry) int { return cmp.Compare(a.row(), b.row()) })
}

// toIndex returns the last row that it looked at even if that row is damaged: otherwise the index would retry the same
// row forever.
func toIndex(ctx context.Context, q querier, upto int64, most int) (list []indexEntry, last int64, err error) {
	rows, err := q.QueryContext(ctx, selectToIndex, upto, most)
	if err != nil {
		return nil, upto, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	last = upto
	for rows.Next() {
		var no, sent int64
		var m chat.Message
		err := rows.Scan(&last, &no, &m.Seq, &m.Role, &m.Class, &m.Text, &sent)
		m.Time = fromMillis(sent)
		if err == nil && findable(m) { // a damaged row cannot be found by its words, but must not block others
			list = append(list, indexEntry{m, no})
		}
	}
	return list, last, rows.Err()
}

// add schedules the message for indexing with its batch, which it may complete. Messages are stored whether
// or not they can be indexed: the next batch retries.
func (x *indexer) add(ctx context.Context, tx *sql.Tx, stored sql.Result, _ *chat.Message) error {
	id, err := stored.LastInsertId()
	if err != nil {
		return fmt.Errorf("number of a message: %w", err)
	}
	if id%indexBatch != 0 {
		return nil
	}
	x.complete.Store(true)
	var upto int64
	if err := tx.QueryRowContext(ctx, selectIndexed).Scan(&upto); err == nil && id-upto < maxIndexLag {
		return nil
	}
	return x.tryIndexing(ctx, tx, maxIndexLag+indexBatch)
}

// addImported gives the index its share, so that it does not fall behind a long import.
func (x *indexer) addImported(ctx context.Context, tx *sql.Tx, added int) error {
	return x.tryIndexing(ctx, tx, added+2*indexBatch)
}

// addAgain adds a message only if the index has already passed it. Otherwise it will read the new text by itself.
func (x *indexer) addAgain(ctx context.Context, tx *sql.Tx, was storedRow, m chat.Message) error {
	var upto int64
	if err := tx.QueryRowContext(ctx, selectIndexed).Scan(&upto); err != nil || was.id > upto || !findable(m) {
		return err
	}
	_, err := tx.ExecContext(ctx, insertTerms, was.indexRow(), strings.Join(indexTerms(m), " "))
	return err
}

const deleteTerms = `DELETE FROM terms WHERE rowid = ?1`

func (x *indexer) remove(ctx context.Context, tx *sql.Tx, m storedRow) error {
	x.invalidate()
	_, err := tx.ExecContext(ctx, deleteTerms, m.indexRow())
	return err
}

// The IDs of the newest messages are reused once they are deleted.
const lowerIndexed = `UPDATE indexed SET upto = MIN(upto, (SELECT COALESCE(MAX(id), 0) FROM messages))`

func (x *indexer) swept(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, lowerIndexed); err != nil {
		return fmt.Errorf("record the state of the index: %w", err)
	}
	return nil
}

// tryIndexing indexes the next messages; [Search.Err] reports a failure.
func (x *indexer) tryIndexing(ctx context.Context, tx *sql.Tx, most int) error {
	if _, err := tx.ExecContext(ctx, `SAVEPOINT terms`); err != nil {
		return err
	}
	end, failed := `RELEASE terms`, (*error)(nil)
	if _, err := indexMore(ctx, tx, most); err != nil {
		end, failed = `ROLLBACK TO terms; RELEASE terms`, &err
	}
	x.failed.Store(failed)
	_, err := tx.ExecContext(ctx, end)
	return err
}

func (x *indexer) err() error {
	if failed := x.failed.Load(); failed != nil {
		return *failed
	}
	return nil
}

const forgetTerms = `INSERT INTO terms (terms) VALUES ('delete-all'); UPDATE indexed SET upto = 0, version = ?1`

// isIndexDamage reports whether a check has found damage only in the index, which can be rebuilt from the messages.
func isIndexDamage(err error) bool {
	var corrupt *sqlite.CorruptError
	return errors.As(err, &corrupt) && strings.Contains(corrupt.Err.Error(), `table "terms"`)
}

// renewTerms creates the table as the schema does.
const renewTerms = `DROP TABLE terms;
	CREATE VIRTUAL TABLE terms USING fts5 (list, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');
	UPDATE indexed SET upto = 0`

const indexProgress = `SELECT upto, COALESCE((SELECT MAX(id) FROM messages), 0) FROM indexed`

// reportProgress reports the progress of the index by message IDs, some of which are unused after deletions.
func (x *indexer) reportProgress(ctx context.Context, to func(w engine.Work, done, total int64)) error {
	if to == nil {
		return nil
	}
	var upto, last int64
	if err := x.db.read.QueryRowContext(ctx, indexProgress).Scan(&upto, &last); err != nil {
		return fmt.Errorf("state of the index: %w", err)
	}
	to(engine.Indexing, upto, last)
	return nil
}

// renew empties the index; build fills it.
func (x *indexer) renew(ctx context.Context) error {
	if _, err := x.db.namedExec(ctx, theIndex, renewTerms); err != nil {
		return fmt.Errorf("rebuild the damaged index: %w", err)
	}
	return nil
}

const indexBacklog = `SELECT version <> ?1, EXISTS (SELECT 1 FROM messages WHERE id > upto) FROM indexed`

// build completes the index at startup: after an upgrade it may lack messages, or may have been built with other
// terms. It takes about 20 s for a million messages.
func (x *indexer) build(ctx context.Context, report func(w engine.Work, done, total int64)) error {
	// Small transactions: each one holds the write lock.
	const chunk = 2000
	var outdated, more bool
	if err := x.db.read.QueryRowContext(ctx, indexBacklog, tokenize.Version).Scan(&outdated, &more); err != nil {
		return fmt.Errorf("state of the index: %w", err)
	}
	if outdated {
		if _, err := x.db.namedExec(ctx, theIndex, forgetTerms, tokenize.Version); err != nil {
			return fmt.Errorf("rebuild the index: %w", err)
		}
		more = true
	}
	for more {
		if err := x.reportProgress(ctx, report); err != nil {
			return err
		}
		err := x.db.namedTx(ctx, theIndex, func(ctx context.Context, tx *sql.Tx) (err error) {
			more, err = indexMore(ctx, tx, chunk)
			return err
		})
		if err != nil {
			return fmt.Errorf("complete the index: %w", err)
		}
	}
	return nil
}
