package db

import (
	"context"
	"database/sql"
)

// Tx runs f in a write transaction, as the methods of DB do.
func (d *DB) Tx(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	return d.tx(ctx, f)
}

// Waiting is how many write transactions wait for the writer.
func (d *DB) Waiting() int { return len(d.writer.whoWaits()) }
