package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Querier is a database, or a transaction in it.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// All lists what a query finds. An error says that it is about what.
func All[T any](
	ctx context.Context, from Querier, what string, scan func(*sql.Rows) (T, error), query string, args ...any,
) (list []T, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", what, err)
		}
	}()
	rows, err := from.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, rows.Err()
}

// One is what a query finds first; if that is nothing, the error is none.
func One[T any](
	ctx context.Context, from Querier, what string, none error, scan func(*sql.Rows) (T, error), query string, args ...any,
) (one T, err error) {
	list, err := All(ctx, from, what, scan, query, args...)
	if err != nil {
		return one, err
	} else if len(list) == 0 {
		return one, none
	}
	return list[0], nil
}

// Millis is how a time is stored. The zero time is 0, because year 1 in milliseconds would not survive the way back through
// SQL.
func Millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// FromMillis is a time that was stored.
func FromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
