package db

import (
	"context"
	"database/sql"
	"fmt"
)

// The index grows in segments, and a search looks up each word in every segment. Merging them makes a search in a
// million messages twice as fast. The first step, with a negative number of pages, starts the merge, and the others
// continue it (page "SQLite FTS5 Extension", The 'merge' Command).
const mergeTerms = `INSERT INTO terms (terms, rank) VALUES ('merge', ?1)`

// mergeStep is how many pages of the index are written in one transaction, during which other writes wait.
const mergeStep = 256

const changes = `SELECT total_changes()`

// Merge merges the index into one segment, step by step. It takes about a second for a million messages.
func (s Search) Merge(ctx context.Context) error {
	for pages, more := -mergeStep, true; more; pages = mergeStep {
		err := s.db.engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
			var before, after int
			if err := tx.QueryRowContext(ctx, changes).Scan(&before); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, mergeTerms, pages); err != nil {
				return err
			}
			err := tx.QueryRowContext(ctx, changes).Scan(&after)
			more = after-before >= 2 // the command itself makes one change
			return err
		})
		if err != nil {
			return fmt.Errorf("merge the index: %w", err)
		}
	}
	return nil
}
