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

// collect reads all rows that a query finds, each by scan. A row that cannot be read is left out, so that it is in the
// way of no other; [History.Unreadable] names it.
func collect[T any](
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

// one returns the first readable row of a query, or [ErrNotFound], or [ErrUnreadable] if there are only
// damaged ones.
func one[T any](
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

// scanText reads a row that is one text.
func scanText(scan scanner) (s string, err error) {
	err = scan(&s)
	return s, err
}

// scanNumber reads a row that is one number.
func scanNumber(scan scanner) (n int64, err error) {
	err = scan(&n)
	return n, err
}

// scanKey reads a row that is the key of a chat.
func scanKey(scan scanner) (chat.Key, error) {
	s, err := scanText(scan)
	if err != nil {
		return chat.Key{}, err
	}
	return chat.ParseKey(s)
}
