package db

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"magpie/internal/chat"
)

// unreadableRow is a row with content that no program can have stored. It is skipped everywhere.
type unreadableRow struct {
	Table string
	Row   string // its rowid, or its ctid
	Err   error  // the first problem
}

func (u unreadableRow) String() string { return fmt.Sprintf("%s row %s: %v", u.Table, u.Row, u.Err) }

// maxUnreadable limits the rows listed per table: more of them have the same cause.
const maxUnreadable = 100

// Unreadable lists the unreadable rows by table and row. It reads the whole database.
func (ms Messages) Unreadable(ctx context.Context) ([]unreadableRow, error) {
	tables, err := tablesOf(ctx, ms.db.read)
	if err != nil {
		return nil, fmt.Errorf("look for rows that cannot be read: %w", err)
	}
	var all []unreadableRow
	for _, t := range tables {
		found, err := t.unreadable(ctx, ms.db.read)
		if err != nil {
			return nil, fmt.Errorf("look for rows of %s that cannot be read: %w", t.name, err)
		}
		all = append(all, found...)
	}
	return all, nil
}

// table is a table with rowids, and its columns that are not text.
type table struct {
	name    string
	numbers []string
	keys    []string // columns with chat keys
}

// Excludes tables that are not ours, or can be rebuilt.
const selectTables = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
	AND name NOT LIKE 'goose_%' AND name NOT LIKE 'terms%' AND sql NOT LIKE '%WITHOUT ROWID%' ORDER BY name`

const (
	selectNumbers = `SELECT name FROM pragma_table_info(?1) WHERE type IN ('BIGINT', 'INTEGER')`
	// A grant need not have a chat: its scan checks that.
	selectKeys = `SELECT name FROM pragma_table_info(?1)
		WHERE (name = 'chat_key' OR ?1 = 'chats' AND name = 'key') AND ?1 <> 'grants'`
)

// tablesOf reads the tables from the database, so that new ones are checked without a change here.
func tablesOf(ctx context.Context, q querier) (list []table, err error) {
	names, err := queryAll(ctx, q, scanText, selectTables)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		t := table{name: name}
		if t.keys, err = queryAll(ctx, q, scanText, selectKeys, name); err != nil {
			return nil, err
		}
		if t.numbers, err = queryAll(ctx, q, scanText, selectNumbers, name); err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}

// unreadableFinder finds unreadable rows.
type unreadableFinder func(ctx context.Context, q querier) ([]unreadableRow, error)

// wholeRows checks whole rows of tables whose columns have special formats.
var wholeRows = map[string]unreadableFinder{
	"approvals":       unreadableBy(scanApproval, rowName, approvalColumns+` FROM approvals`),
	"chats":           unreadableBy(scanChat, rowName, chatColumns+` FROM chats`),
	"grants":          unreadableBy(scanGrant, rowName, grantColumns+` FROM grants`),
	"memories":        unreadableBy(scanMemory, rowName, memoryColumns+` FROM memories`),
	"memory_versions": unreadableBy(scanMemoryVersion, rowName, memoryVersionColumns+` FROM memory_versions`),
	"outbox":          unreadableBy(scanPost, rowNameOfPost, postColumns),
	"turns":           unreadableBy(scanTurn, rowName, turnColumns+` FROM turns`),
}

// unreadableBy lists the rows that scan cannot read.
func unreadableBy[T any](scan func(scanner) (T, error), rowid, columnsFrom string) unreadableFinder {
	query := `SELECT ` + rowid + `, ` + columnsFrom
	return func(ctx context.Context, q querier) (found []unreadableRow, err error) {
		_, err = queryAll(ctx, q, func(row scanner) (none struct{}, err error) {
			var id string
			_, err = scan(func(to ...any) error { return row(append([]any{&id}, to...)...) })
			if err != nil && len(found) < maxUnreadable {
				found = append(found, unreadableRow{Row: id, Err: err})
			}
			return none, err
		}, query)
		return found, err
	}
}

// unreadable lists the damaged rows of t, each once.
func (t table) unreadable(ctx context.Context, q querier) (found []unreadableRow, err error) {
	add := func(more []unreadableRow) {
		for _, u := range more {
			u.Table = t.name
			if !slices.ContainsFunc(found, func(known unreadableRow) bool { return known.Row == u.Row }) {
				found = append(found, u)
			}
		}
	}
	for _, find := range []unreadableFinder{t.badKeys, t.badNumbers, wholeRows[t.name]} {
		if find == nil {
			continue
		}
		more, err := find(ctx, q)
		if err != nil {
			return nil, err
		}
		add(more)
	}
	return found, nil
}

// badKeys parses each distinct key once, however many rows have it.
func (t table) badKeys(ctx context.Context, q querier) (found []unreadableRow, err error) {
	for _, column := range t.keys {
		keys, err := queryAll(ctx, q, scanText, `SELECT DISTINCT `+column+` FROM `+t.name)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			_, bad := chat.ParseKey(key)
			if bad == nil {
				continue
			}
			rows, err := queryAll(ctx, q, scanText,
				`SELECT `+rowName+` FROM `+t.name+` WHERE `+column+` = ?1 ORDER BY 1 LIMIT ?2`, key, maxUnreadable)
			if err != nil {
				return nil, err
			}
			for _, row := range rows {
				found = append(found, unreadableRow{Row: row, Err: bad})
			}
		}
	}
	return found, nil
}

// badNumbers finds values that are not numbers in numeric columns: SQLite accepts them.
func (t table) badNumbers(ctx context.Context, q querier) (found []unreadableRow, err error) {
	for _, column := range t.numbers {
		rows, err := queryAll(ctx, q, scanText,
			`SELECT `+rowName+` FROM `+t.name+` WHERE typeof(`+column+`) <> 'integer' ORDER BY 1 LIMIT ?1`, maxUnreadable)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			found = append(found, unreadableRow{Row: row, Err: errors.New(column + " is no number")})
		}
	}
	return found, nil
}
