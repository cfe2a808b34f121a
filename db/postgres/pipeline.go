package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A way to the server and back takes longer than what most statements do there, and others wait for the locks meanwhile. In
// a write transaction, what returns no rows is therefore sent together with the next query, or with the commit, and so is
// the begin. If it fails, the query or the commit does.

// beginning is how long the server may say nothing to what begins a transaction: it waits for a lock there, see [limits].
const beginning = greeting + 5*time.Second

// pipeline is a write transaction that is under way.
type pipeline struct {
	*conn
	ctx   context.Context //nolint:containedctx // of the begin, which ends with the whole transaction
	limit time.Duration   // for what is sent next
	queue []*queued
}

// queued is a statement that waits, or its result.
type queued struct {
	to        *pipeline
	statement string
	args      []any
	tag       *pgconn.CommandTag // nil: it has not been sent
}

// LastInsertId implements [driver.Result].
func (*queued) LastInsertId() (int64, error) { return 0, errors.New("PostgreSQL has RETURNING") }

// RowsAffected implements [driver.Result]: whoever needs that has to wait for it.
func (q *queued) RowsAffected() (int64, error) {
	if q.tag == nil {
		if _, err := q.to.send(q.to.ctx, ""); err != nil {
			return 0, err
		}
	}
	return q.tag.RowsAffected(), nil
}

// add has a statement sent with the next query.
func (p *pipeline) add(statement string, args ...driver.NamedValue) *queued {
	q := &queued{to: p, statement: statement, args: valuesOf(args)}
	p.queue = append(p.queue, q)
	return q
}

func valuesOf(args []driver.NamedValue) []any {
	list := make([]any, len(args))
	for i, a := range args {
		list[i] = a.Value
	}
	return list
}

// send sends what waits, and a query behind it, unless that is empty. It returns the query's rows.
func (p *pipeline) send(ctx context.Context, query string, args ...driver.NamedValue) (driver.Rows, error) {
	batch, sent := &pgx.Batch{}, p.queue
	for _, q := range sent {
		batch.Queue(q.statement, q.args...)
	}
	within := newCall(ctx, p.era, p.limit)
	p.limit, p.queue = p.breaker.silence, nil
	r := &batchRows{within: within, config: p.breaker.config}
	if query != "" {
		batch.Queue(query, valuesOf(args)...)
	}
	err := p.breaker.try(within, func() error {
		if p.Conn.Conn().IsClosed() {
			return driver.ErrBadConn
		}
		r.results = p.Conn.Conn().SendBatch(within, batch)
		for _, q := range sent {
			tag, err := r.results.Exec()
			if err != nil {
				_ = r.results.Close()
				return fmt.Errorf("an earlier statement: %w", err)
			}
			q.tag = &tag
		}
		if query == "" {
			return r.results.Close()
		}
		r.Rows, _ = r.results.Query()
		r.more = r.Rows.Next() // an error comes in place of the first row
		return r.Rows.Err()
	})
	if err == nil && query != "" {
		return r, nil
	}
	if r.Rows != nil {
		_ = r.Close()
	}
	within.end()
	return nil, err
}

// Commit implements [driver.Tx].
func (p *pipeline) Commit() error {
	if p.isEmpty() {
		return p.Rollback()
	}
	commit := p.add("commit")
	_, err := p.send(p.ctx, "")
	if err == nil && commit.tag.String() != "COMMIT" {
		err = pgx.ErrTxCommitRollback
	}
	if err != nil {
		return errors.Join(err, p.Rollback())
	}
	p.transaction = nil
	return nil
}

// isEmpty reports whether nothing was done.
func (p *pipeline) isEmpty() bool { return len(p.queue) == 1 && p.queue[0].statement == begin }

// Rollback implements [driver.Tx].
func (p *pipeline) Rollback() error {
	p.transaction = nil
	if c := p.Conn.Conn(); c.IsClosed() || c.PgConn().TxStatus() == 'I' {
		return nil // the server has no transaction
	}
	within := newCall(p.ctx, p.era, greeting)
	defer within.end()
	return p.breaker.try(within, func() error {
		_, err := p.Conn.Conn().Exec(within, "rollback")
		if err != nil {
			_ = p.Conn.Close() // in whichever state it is
		}
		return err
	})
}

const begin = "begin"

// batchRows are the rows of a query that was sent with others.
type batchRows struct {
	pgx.Rows
	results pgx.BatchResults
	within  *call
	config  *pgx.ConnConfig
	more    bool // the row that was read first has not been returned
}

// Columns implements [driver.Rows].
func (r *batchRows) Columns() []string {
	names := make([]string, len(r.FieldDescriptions()))
	for i, f := range r.FieldDescriptions() {
		names[i] = f.Name
	}
	return names
}

// Next implements [driver.Rows].
func (r *batchRows) Next(to []driver.Value) error {
	if !r.more && !r.Rows.Next() {
		if err := r.Rows.Err(); isAway(err) {
			return away(r.config, err)
		} else if err != nil {
			return err
		}
		return io.EOF
	}
	r.more = false
	values, err := r.Values()
	for i, v := range values {
		if valuer, ok := v.(driver.Valuer); ok && err == nil {
			v, err = valuer.Value()
		}
		to[i] = v
	}
	return err
}

// Close implements [driver.Rows].
func (r *batchRows) Close() error {
	defer r.within.end()
	r.Rows.Close()
	return errors.Join(r.Rows.Err(), r.results.Close())
}
