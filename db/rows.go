package db

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"magpie/internal/chat"
)

// scanner reads the columns of one row.
type scanner func(to ...any) error

// queryAll reads all rows of a query with scan. An unreadable row is skipped, so that it does not affect others;
// [Messages.Unreadable] reports it.
func queryAll[T any](
	ctx context.Context, q querier, scan func(scanner) (T, error), query string, args ...any,
) (list []T, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if one, err := scan(rows.Scan); err == nil {
			list = append(list, one)
		}
	}
	return list, rows.Err()
}

// queryOne returns the first readable row of a query, or [ErrNotFound], or [ErrUnreadable] if all rows are damaged.
func queryOne[T any](
	ctx context.Context, q querier, scan func(scanner) (T, error), query string, args ...any,
) (v T, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	none := ErrNotFound
	for rows.Next() {
		v, err = scan(rows.Scan)
		if err == nil {
			return v, nil
		}
		none = fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return v, cmp.Or(rows.Err(), none)
}

// scanText reads a row with one text.
func scanText(scan scanner) (s string, err error) {
	err = scan(&s)
	return s, err
}

// scanNumber reads a row with one number.
func scanNumber(scan scanner) (n int64, err error) {
	err = scan(&n)
	return n, err
}

// scanKey reads a row with a chat key.
func scanKey(scan scanner) (chat.Key, error) {
	s, err := scanText(scan)
	if err != nil {
		return chat.Key{}, err
	}
	return chat.ParseKey(s)
}

var (
	// ErrNotFound means that the row does not exist.
	ErrNotFound = errors.New("not found")

	// ErrUnreadable means that a row has content that no program can have stored. The row stays until the operator
	// corrects it.
	ErrUnreadable = errors.New("a row of the database cannot be read: run magpie doctor")

	// ErrStopped means that somebody has stopped the turn meanwhile.
	ErrStopped = errors.New("the turn was stopped meanwhile")

	// errOver means that the conversation of the turn has ended meanwhile.
	errOver = errors.New("the conversation has ended meanwhile")

	// ErrRepeated means that the event was already handled.
	ErrRepeated = errors.New("the event is known already")
)

// Permanent reports whether repeating the query would always fail the same way: the row is gone, or cannot be read, or
// belongs to another bridge. A
// retry loop would never end.
func Permanent(err error) bool {
	return errors.Is(err, ErrUnreadable) || errors.Is(err, ErrNotFound) || errors.Is(err, chat.ErrElsewhere)
}

const insertEvent = `INSERT INTO events (id, seen_at) VALUES (?1, ?2) ON CONFLICT (id) DO NOTHING`

// takeEvent records an event that is not a message, in the transaction of its effect. It returns [ErrRepeated] if the
// event is known. An event without an ID is always new.
func takeEvent(ctx context.Context, d *DB, tx *sql.Tx, id string) error {
	if id == "" {
		return nil
	}
	res, err := tx.ExecContext(ctx, insertEvent, id, millis(d.now()))
	if err != nil {
		return fmt.Errorf("note event %s: %w", id, err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, ErrRepeated)
	}
	return nil
}
