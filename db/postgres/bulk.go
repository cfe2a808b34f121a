package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"magpie/internal/i18n"
)

// Bulk writes many rows at once, on a connection of its own without the limits of those that serve: the making of an
// index takes longer than any message.
type Bulk struct {
	db   *DB
	pool *sql.DB
	conn *sql.Conn
}

// lockBulk is taken for as long as the connection lasts, so a program that was killed holds it for a moment only.
const lockBulk = `SELECT pg_advisory_lock(hashtextextended('copy', 0))`

// OpenBulk waits a moment for another copy into the database to end.
func (d *DB) OpenBulk(ctx context.Context) (_ *Bulk, err error) {
	config := d.config.Copy()
	for name := range limits {
		delete(config.RuntimeParams, name)
	}
	config.RuntimeParams["lock_timeout"] = limits["lock_timeout"]
	patient := newBreaker(config)
	patient.silence = 24 * time.Hour
	b := &Bulk{db: d, pool: sql.OpenDB(connector{stdlib.GetConnector(*config), newTranslator(d.options.Words), patient, nil, false})}
	defer func() {
		if err != nil {
			err = errors.Join(d.Explain(err), b.Close())
		}
	}()
	if b.conn, err = b.pool.Conn(ctx); err != nil {
		return nil, err
	}
	if _, err = b.conn.ExecContext(ctx, lockBulk); codeOf(err) == lockNotAvailable {
		err = i18n.Mistakef("另一个进程正在往数据库 %s 里复制", "another process is copying into the database %s", d.config.Database)
	}
	return b, err
}

// Insert adds rows to a table in the transaction that it was handed with.
type Insert = func(table string, columns []string, rows [][]any) error

// Fill runs f in a transaction, and commits it unless f fails. It is not repeated.
func (b *Bulk) Fill(ctx context.Context, f func(ctx context.Context, tx *sql.Tx, insert Insert) error) error {
	return b.db.Explain(b.fill(ctx, f))
}

func (b *Bulk) fill(ctx context.Context, f func(ctx context.Context, tx *sql.Tx, insert Insert) error) error {
	tx, err := b.conn.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // unless it is committed
	err = f(ctx, tx, func(table string, columns []string, rows [][]any) error {
		return b.conn.Raw(func(c any) error {
			_, err := c.(*conn).Conn.Conn().CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromRows(rows))
			return err
		})
	})
	if err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// Close ends the connection.
func (b *Bulk) Close() error {
	var err error
	if b.conn != nil {
		err = b.conn.Close()
	}
	return errors.Join(err, b.pool.Close())
}

const selectOthers = `SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database()
	AND application_name LIKE 'magpie %' AND application_name <> ?1`

// Others counts the connections of other runs of this program, as far as its role may see them.
func (d *DB) Others(ctx context.Context) (n int, err error) {
	err = d.read.QueryRowContext(ctx, selectOthers, d.config.RuntimeParams["application_name"]).Scan(&n)
	return n, d.Explain(err)
}

// Name is the name of the database.
func (d *DB) Name() string { return d.config.Database }
