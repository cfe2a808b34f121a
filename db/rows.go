package db

import (
	"cmp"
	"context"
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
