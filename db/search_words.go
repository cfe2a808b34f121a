package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"magpie/internal/chat"
	"magpie/internal/tokenize"
)

const chatNumber = `SELECT no FROM chats WHERE key = ?1`

const findWords = `SELECT rowid - ?2 FROM terms WHERE terms MATCH ?1
	AND rowid BETWEEN ?2 - 2147483648 AND ?2 + 2147483647 ORDER BY rowid DESC LIMIT ?3`

// WithWords returns the newest messages of all conversations of a chat that contain all of these words, newest first,
// at most this many. Without any word there are none.
func (s Search) WithWords(ctx context.Context, key chat.Key, words string, most int) (_ []chat.Message, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("search in %v: %w", key, err)
		}
	}()
	terms := slices.DeleteFunc(tokenize.Terms(words), func(t string) bool { return strings.ContainsFunc(t, isSeparator) })
	if len(terms) == 0 {
		return nil, nil
	}
	var no int64
	err = s.db.read.QueryRowContext(ctx, chatNumber, key.String()).Scan(&no)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	// The index lags behind, so the fresh ones are read first: a message between the two is found twice, not never.
	found, err := queryMessages(ctx, s.db.read, key, notIndexed, key.String())
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(m chat.Message) bool {
		own := indexTerms(m)
		return slices.ContainsFunc(terms, func(t string) bool { return !slices.Contains(own, t) })
	})
	seqs, err := queryAll(ctx, s.db.read, func(scan scanner) (seq int64, err error) { return seq, scan(&seq) },
		findWords, `"`+strings.Join(terms, `" "`)+`"`, indexRow(no), most)
	if err != nil {
		return nil, err
	}
	indexed, err := s.db.Messages().BySeq(ctx, key, seqs)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(append(found, indexed...), func(m chat.Message) bool {
		return m.Class != chat.Talk || !findable(m)
	})
	slices.SortFunc(found, func(a, b chat.Message) int { return int(b.Seq - a.Seq) })
	found = slices.CompactFunc(found, func(a, b chat.Message) bool { return a.Seq == b.Seq })
	return found[:min(len(found), most)], nil
}
