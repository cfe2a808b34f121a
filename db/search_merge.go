package db

import (
	"context"
	"database/sql"
	"fmt"
)

// The index grows by parts, and each part is looked through for each word. Merging them makes a search in a million
// messages twice as fast. The first step with a negative number of pages begins it, the others go on
// (page "SQLite FTS5 Extension", The 'merge' Command).
const mergeTerms = `INSERT INTO terms (terms, rank) VALUES ('merge', ?1)`

// mergeStep is how many pages of the index are written in one transaction: others wait for it.
const mergeStep = 256

const changes = `SELECT total_changes()`

// Merge makes one part of the index's parts, bit by bit. It takes about a second for a million messages.
func (ix Index) Merge(ctx context.Context) error {
	for pages, more := -mergeStep, true; more; pages = mergeStep {
		err := ix.db.engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
			var before, after int
			if err := tx.QueryRowContext(ctx, changes).Scan(&before); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, mergeTerms, pages); err != nil {
				return err
			}
			err := tx.QueryRowContext(ctx, changes).Scan(&after)
			more = after-before >= 2 // the command itself is one
			return err
		})
		if err != nil {
			return fmt.Errorf("merge the index: %w", err)
		}
	}
	return nil
}
