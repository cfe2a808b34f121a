package db

import (
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
	"magpie/internal/chat"
	"magpie/internal/tokenize"
)

// theIndex names the index.
const theIndex = "index"

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

// indexRow is the row of a message in the index.
func (m storedRow) indexRow() int64 { return indexRow(m.no) + m.seq }

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

// termIndex says which messages have a term. Each engine has its own: see [indexer] and [postings].
type termIndex interface {
	// build completes the index at startup.
	build(ctx context.Context, report func(w engine.Work, done, total int64)) error
	// add adds a message that was just stored, by its insertion.
	add(ctx context.Context, tx *sql.Tx, stored sql.Result, m *chat.Message) error
	// addImported follows when messages of an import were added.
	addImported(ctx context.Context, tx *sql.Tx, added int) error
	// remove removes a message whose text is still stored.
	remove(ctx context.Context, tx *sql.Tx, m storedRow) error
	// addAgain adds a message that was removed, with another text.
	addAgain(ctx context.Context, tx *sql.Tx, was storedRow, m chat.Message) error
	// swept follows when the newest messages may have been deleted.
	swept(ctx context.Context, tx *sql.Tx) error
	// merge makes searches faster.
	merge(ctx context.Context) error
	// err is the error of the last attempt to add the newest messages.
	err() error
	close()
}

// Err is the error of the last attempt to index the newest messages; nil = success.
func (s Search) Err() error { return s.db.terms.err() }

// Merge merges the index, so that searches in it are faster.
func (s Search) Merge(ctx context.Context) error { return s.db.terms.merge(ctx) }

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
	if found.Terms, err = findPostings(ctx, tx, terms, indexRow(no), first.Int64, most); err != nil {
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

// findPostings quotes the terms, because FTS5 would treat some characters as operators. A term that the index would split
// finds nothing, instead of something else.
func findPostings(ctx context.Context, q querier, terms []string, base, first int64, most int) (_ []Postings, err error) {
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
