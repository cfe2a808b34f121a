package db

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"magpie/db/engine"
	"magpie/db/sqlite"
	"magpie/internal/chat"
	"magpie/internal/tokenize"
)

// The index of the History by terms. Messages are indexed in batches, at a tenth of the cost, concurrently with the
// writes that store them: see [indexer]. Few enough messages are not indexed yet to scan them.
const indexBatch = 256

// Postings are the messages of a chat that contain a term.
type Postings struct {
	Term string
	Seqs []int64 // newest first
	More bool    // there are older ones
}

// Found is the result of a search in a chat's History.
type Found struct {
	Terms    []Postings // in the order of the search terms
	Messages int        // the approximate number of messages in the conversation
}

// The row of a message in the index is made of its chat's number and its seq, which may be negative: see [Messages.Importer].
const (
	chatRows = 1 << 32
	firstSeq = -1 << 31
)

// indexRow is the row of the chat's message with seq 0.
func indexRow(no int64) int64 { return no*chatRows - firstSeq }

// chatRange is the range of the messages of a chat's epoch in the index.
const chatRange = `SELECT no, next_seq, (SELECT seq FROM messages
	WHERE chat_key = ?1 AND epoch = ?2 AND class = 'talk' AND role IN ('user', 'assistant') ORDER BY seq LIMIT 1)
	FROM chats WHERE key = ?1`

// countFront counts the messages that imports have put before a chat, which have gaps between them, see [room]. Beyond
// some thousands the number does not matter.
const countFront = `SELECT COUNT(*) FROM (SELECT 1 FROM messages WHERE chat_key = ?1 AND seq >= ?2 AND seq < 1
	LIMIT 5000) AS front`

// Search finds messages by their words, and by vectors that represent their meaning. Messages of ended conversations
// need no vector, since nothing looks for one there. Ordering by ID finds the newest without sorting.
type Search struct{ db *DB }

// Search returns the search in the database.
func (d *DB) Search() Search { return Search{d} }

const findTerms = `SELECT (SELECT group_concat(rowid - ?2, ' ') FROM
	(SELECT rowid FROM terms WHERE terms MATCH json_each.value AND rowid BETWEEN ?2 + ?3 AND ?2 + 2147483647
	ORDER BY rowid DESC LIMIT ?4))
	FROM json_each(?1) ORDER BY key`

// There are few of them, so the query must not use the chat: that would read the whole chat.
const notIndexed = `SELECT ` + messageColumns + ` FROM messages WHERE id > (SELECT upto FROM indexed)
	AND chat_key || '' = ?1` + notRecalled + ` ORDER BY id DESC LIMIT 1000`

// Find returns, for each term, the newest messages of a chat's epoch that contain it, at most this many and a batch. It
// finds talk, and messages that were not addressed to the bot.
func (s Search) Find(
	ctx context.Context, key chat.Key, epoch int64, terms []string, most int,
) (found Found, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("find in the history of %v: %w", key, err)
		}
	}()
	tx, err := s.db.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true}) // index and messages at the same moment
	if err != nil {
		return Found{}, err
	}
	defer tx.Rollback() //nolint:errcheck // nothing was written
	var no, next int64
	var first sql.NullInt64
	err = tx.QueryRowContext(ctx, chatRange, key.String(), epoch).Scan(&no, &next, &first)
	if errors.Is(err, sql.ErrNoRows) || err == nil && !first.Valid {
		return Found{}, nil
	} else if err != nil {
		return Found{}, err
	}
	found.Messages = int(next - max(first.Int64, 1))
	if first.Int64 < 1 {
		var front int
		if err := tx.QueryRowContext(ctx, countFront, key.String(), first.Int64).Scan(&front); err != nil {
			return Found{}, err
		}
		found.Messages += front
	}
	if found.Terms, err = postings(ctx, tx, terms, indexRow(no), first.Int64, most); err != nil {
		return Found{}, err
	}
	fresh, err := queryMessages(ctx, tx, key, notIndexed, key.String())
	if err != nil {
		return Found{}, err
	}
	found.addNewest(fresh, first.Int64)
	return found, nil
}

// addNewest puts fresh messages, newest first, before those from the index. Each is split into terms once.
func (f Found) addNewest(fresh []chat.Message, first int64) {
	at := make(map[string][]int, len(f.Terms))
	for i, p := range f.Terms {
		at[p.Term] = append(at[p.Term], i)
	}
	newest := make([][]int64, len(f.Terms))
	for _, m := range fresh {
		if m.Seq < first || !findable(m) {
			continue
		}
		for _, term := range indexTerms(m) {
			for _, i := range at[term] {
				newest[i] = append(newest[i], m.Seq)
			}
		}
	}
	for i := range f.Terms {
		f.Terms[i].Seqs = append(newest[i], f.Terms[i].Seqs...)
	}
}

// isSeparator reports whether the index treats r as the end of a term. A term with such an r would be a phrase, which
// the index does not support.
func isSeparator(r rune) bool {
	return r < utf8.RuneSelf && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}

// postings quotes the terms, because FTS5 would treat some characters as operators. A term that the index would split
// finds nothing, instead of something else.
func postings(ctx context.Context, q querier, terms []string, base, first int64, most int) (_ []Postings, err error) {
	quoted := make([]string, len(terms))
	for i, t := range terms {
		quoted[i] = `""` // finds nothing
		if !strings.ContainsFunc(t, isSeparator) {
			quoted[i] = `"` + t + `"`
		}
	}
	list, err := json.Marshal(quoted)
	if err != nil {
		return nil, err
	}
	rows, err := q.QueryContext(ctx, findTerms, string(list), base, first, most)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var found []Postings
	for rows.Next() {
		var seqs sql.NullString
		if err := rows.Scan(&seqs); err != nil {
			return nil, err
		}
		p := Postings{Term: terms[len(found)]}
		for s := range strings.FieldsSeq(seqs.String) {
			seq, err := strconv.ParseInt(s, 10, 64)
			if err != nil {
				return nil, err
			}
			p.Seqs = append(p.Seqs, seq)
		}
		p.More = len(p.Seqs) == most
		found = append(found, p)
	}
	return found, rows.Err()
}

// findable reports whether a message belongs in the index.
func findable(m chat.Message) bool {
	return m.Class != chat.Command && (m.Role == chat.User || m.Role == chat.Assistant)
}

// indexTerms are the terms that find a message, without duplicates.
func indexTerms(m chat.Message) []string {
	terms := tokenize.Terms(m.Text)
	if !m.Time.IsZero() {
		terms = append(terms, tokenize.Day(m.Time), tokenize.Month(m.Time))
	}
	slices.Sort(terms)
	return slices.Compact(terms)
}

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
	row int64
}

// sortEntries sorts in the order of the index: SQLite would write the index out at each step back.
func sortEntries(list []indexEntry) {
	slices.SortFunc(list, func(a, b indexEntry) int { return cmp.Compare(a.row, b.row) })
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
			list = append(list, indexEntry{m, indexRow(no) + m.Seq})
		}
	}
	return list, last, rows.Err()
}

// scheduleBatch schedules the message with this ID for indexing with its batch, which it may complete. Messages are
// stored whether or not they can be indexed: the next batch retries.
func (s Search) scheduleBatch(ctx context.Context, tx *sql.Tx, id int64) error {
	if id%indexBatch != 0 {
		return nil
	}
	s.db.indexing.complete.Store(true)
	var upto int64
	if err := tx.QueryRowContext(ctx, selectIndexed).Scan(&upto); err == nil && id-upto < maxIndexLag {
		return nil
	}
	return s.tryIndexing(ctx, tx, maxIndexLag+indexBatch)
}

// tryIndexing indexes the next messages; [Search.Err] reports a failure.
func (s Search) tryIndexing(ctx context.Context, tx *sql.Tx, most int) error {
	if _, err := tx.ExecContext(ctx, `SAVEPOINT terms`); err != nil {
		return err
	}
	end, failed := `RELEASE terms`, (*error)(nil)
	if _, err := indexMore(ctx, tx, most); err != nil {
		end, failed = `ROLLBACK TO terms; RELEASE terms`, &err
	}
	s.db.indexFailed.Store(failed)
	_, err := tx.ExecContext(ctx, end)
	return err
}

// Err is the error of the last attempt to index the newest messages; nil = success.
func (s Search) Err() error {
	if failed := s.db.indexFailed.Load(); failed != nil {
		return *failed
	}
	return nil
}

const indexSize = `SELECT COALESCE((SELECT SUM(LENGTH(block)) FROM terms_data), 0)
	+ COALESCE((SELECT SUM(LENGTH(sz) + 8) FROM terms_docsize), 0)
	+ COALESCE((SELECT SUM(LENGTH(term) + 8) FROM terms_idx), 0)`

// Size is the size of the index in bytes.
func (s Search) Size(ctx context.Context) (bytes int64, err error) {
	err = s.db.read.QueryRowContext(ctx, indexSize).Scan(&bytes)
	return bytes, err
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
func (s Search) reportProgress(ctx context.Context, to func(w engine.Work, done, total int64)) error {
	if to == nil {
		return nil
	}
	var upto, last int64
	if err := s.db.read.QueryRowContext(ctx, indexProgress).Scan(&upto, &last); err != nil {
		return fmt.Errorf("state of the index: %w", err)
	}
	to(engine.Indexing, upto, last)
	return nil
}

// renew empties the index; catchUp fills it.
func (s Search) renew(ctx context.Context) error {
	if _, err := s.db.engine.Exec(ctx, renewTerms); err != nil {
		return fmt.Errorf("rebuild the damaged index: %w", err)
	}
	return nil
}

const indexBacklog = `SELECT version <> ?1, EXISTS (SELECT 1 FROM messages WHERE id > upto) FROM indexed`

// catchUp completes the index at startup: after an upgrade it may lack messages, or may have been built with other
// terms. It takes about 20 s for a million messages.
func (s Search) catchUp(ctx context.Context, report func(w engine.Work, done, total int64)) error {
	// Small transactions: each one holds the write lock.
	const chunk = 2000
	var outdated, more bool
	if err := s.db.read.QueryRowContext(ctx, indexBacklog, tokenize.Version).Scan(&outdated, &more); err != nil {
		return fmt.Errorf("state of the index: %w", err)
	}
	if outdated {
		if _, err := s.db.engine.Exec(ctx, forgetTerms, tokenize.Version); err != nil {
			return fmt.Errorf("rebuild the index: %w", err)
		}
		more = true
	}
	for more {
		if err := s.reportProgress(ctx, report); err != nil {
			return err
		}
		err := s.db.engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
			more, err = indexMore(ctx, tx, chunk)
			return err
		})
		if err != nil {
			return fmt.Errorf("complete the index: %w", err)
		}
	}
	return nil
}
