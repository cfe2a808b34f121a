package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"

	"magpie/db/engine"
	"magpie/internal/chat"
	"magpie/internal/tokenize"
)

// postings is the index by terms in PostgreSQL. It is written with each message: numbers of messages are given out there
// before they are committed, so what follows them in batches would pass over some.
type postings struct{ db *DB }

const insertPostings = `INSERT INTO postings (chat, term, seq) SELECT no, term.value, ?2 FROM chats CROSS JOIN json_each(?3) term
	WHERE chats.key = ?1 ON CONFLICT DO NOTHING`

func (p postings) add(ctx context.Context, tx *sql.Tx, _ sql.Result, m *chat.Message) error {
	if !findable(*m) {
		return nil
	}
	if _, err := tx.ExecContext(ctx, insertPostings, m.Key.String(), m.Seq, encodeList(indexTerms(*m))); err != nil {
		return fmt.Errorf("index a message: %w", err)
	}
	return nil
}

func (p postings) addAgain(ctx context.Context, tx *sql.Tx, _ storedRow, m chat.Message) error {
	return p.add(ctx, tx, nil, &m)
}

const (
	selectIndexedText = `SELECT role, class, content, sent_at FROM messages WHERE id = ?1`
	deletePostings    = `DELETE FROM postings WHERE chat = ?1 AND seq = ?2 AND term IN (SELECT value FROM json_each(?3))`
)

// remove finds the rows of a message by its terms, as a second index would take as much space as the first.
func (p postings) remove(ctx context.Context, tx *sql.Tx, m storedRow) error {
	text, err := queryOne(ctx, tx, func(scan scanner) (m chat.Message, err error) {
		var sent int64
		err = scan(&m.Role, &m.Class, &m.Text, &sent)
		m.Time = fromMillis(sent)
		return m, err
	}, selectIndexedText, m.id)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, deletePostings, m.no, m.seq, encodeList(indexTerms(text)))
	return err
}

func (postings) addImported(context.Context, *sql.Tx, int) error { return nil }

func (postings) swept(context.Context, *sql.Tx) error { return nil }

func (postings) merge(context.Context) error { return nil }

func (postings) err() error { return nil }

func (postings) close() {}

// allIndexed is said of an index that lacks nothing: messages that are stored are added.
const allIndexed = math.MaxInt64

const (
	selectPostingsState = `SELECT upto, version FROM indexed`
	lockPostings        = `UPDATE indexed SET upto = upto RETURNING upto`
	forgetPostings      = `UPDATE indexed SET version = ?1, upto = 0 WHERE version <> ?1`
	emptyPostings       = `TRUNCATE postings`
	setIndexedUpto      = `UPDATE indexed SET upto = ?1`

	insertAllPostings = `INSERT INTO postings (chat, term, seq)
		SELECT CAST(CAST(m.value AS json) ->> 0 AS BIGINT), t.value, CAST(CAST(m.value AS json) ->> 1 AS BIGINT) FROM json_each(?1) m
		CROSS JOIN json_each(CAST(m.value AS json) ->> 2) t ON CONFLICT DO NOTHING`
)

// build makes the index anew if it was made with other terms. Messages that are stored meanwhile have the new ones.
func (p postings) build(ctx context.Context, report func(w engine.Work, done, total int64)) error {
	var upto, version int64
	if err := p.db.read.QueryRowContext(ctx, selectPostingsState).Scan(&upto, &version); err != nil {
		return fmt.Errorf("state of the index: %w", err)
	}
	if version != tokenize.Version {
		if err := p.empty(ctx); err != nil {
			return fmt.Errorf("rebuild the index: %w", err)
		}
		upto = 0
	}
	for upto != allIndexed {
		var newest int64
		if err := p.db.read.QueryRowContext(ctx, newestMessage).Scan(&newest); err != nil {
			return fmt.Errorf("state of the index: %w", err)
		}
		if report != nil {
			report(engine.Indexing, upto, newest)
		}
		err := p.db.namedTx(ctx, theIndex, func(ctx context.Context, tx *sql.Tx) (err error) {
			upto, err = p.indexMore(ctx, tx)
			return err
		})
		if err != nil {
			return fmt.Errorf("complete the index: %w", err)
		}
	}
	return nil
}

const newestMessage = `SELECT COALESCE(MAX(id), 0) FROM messages`

// empty empties the index if nobody else has done so.
func (p postings) empty(ctx context.Context) error {
	return p.db.namedTx(ctx, theIndex, func(ctx context.Context, tx *sql.Tx) error {
		old, err := rowsChanged(tx.ExecContext(ctx, forgetPostings, tokenize.Version))
		if err == nil && old {
			_, err = tx.ExecContext(ctx, emptyPostings)
		}
		return err
	})
}

// indexMore adds the next messages, and returns up to which one the index is complete.
func (p postings) indexMore(ctx context.Context, tx *sql.Tx) (upto int64, err error) {
	const chunk = 2000
	if err := tx.QueryRowContext(ctx, lockPostings).Scan(&upto); err != nil || upto == allIndexed {
		return upto, err
	}
	list, last, err := toIndex(ctx, tx, upto, chunk)
	if err != nil {
		return 0, err
	}
	if last == upto {
		last = allIndexed
	}
	rows := make([][3]any, len(list))
	for i, m := range list {
		rows[i] = [3]any{m.no, m.Seq, indexTerms(m.Message)}
	}
	data, err := json.Marshal(rows)
	if err != nil {
		return 0, err
	}
	if _, err := tx.ExecContext(ctx, insertAllPostings, string(data)); err != nil {
		return 0, err
	}
	_, err = tx.ExecContext(ctx, setIndexedUpto, last)
	return last, err
}
