// Package postgres is the engine under db for several machines: a PostgreSQL database that any number of programs serve.
// It opens the connections, runs transactions and repeats those that met another one, and upgrades the schema. The tables
// and their queries are not part of it.
package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"magpie/db/engine"
	"magpie/internal/i18n"
)

// Connections of one program. PostgreSQL allows 100 to all together, unless it is told otherwise.
const (
	writers = 8
	readers = 4
)

// The server ends what hangs, so that a program that was stopped in the middle of a transaction does not block the chats
// whose rows it has locked for all others. TCP would notice that after two hours.
var limits = map[string]string{
	"lock_timeout": "5s", "statement_timeout": "60s", "idle_in_transaction_session_timeout": "5s",
}

// repeats is how often a transaction that met another one is repeated.
const repeats = 3

// Options are the options for opening a database.
type Options struct {
	Schema fs.FS             // the migrations, as goose reads them
	Words  map[string]string // what is said in other words here than in SQLite, which may be a part of a statement
	Run    string            // names this program's connections

	Instance string // identifies this program on this machine
}

// DB is an open database. Its methods are safe for concurrent use.
type DB struct {
	write, read *sql.DB
	config      *pgx.ConnConfig
	options     Options
	breaker     *breaker
	fence       fence
	conflicts   atomic.Int64
}

// Open opens the database for serving, and upgrades its schema.
func Open(ctx context.Context, to *pgx.ConnConfig, o Options) (*DB, error) {
	d, err := open(ctx, to, o)
	if err != nil {
		return nil, err
	}
	if err = d.migrate(ctx); err == nil {
		err = d.checkRights(ctx)
	}
	if err != nil {
		return nil, errors.Join(d.Explain(err), d.Close())
	}
	return d, nil
}

// OpenReadOnly opens a database whose schema may be older than this program's. Every write through it fails.
func OpenReadOnly(ctx context.Context, to *pgx.ConnConfig, o Options) (*DB, error) {
	d, err := open(ctx, to, o)
	if err != nil {
		return nil, err
	}
	err = d.write.Close()
	d.write = d.read
	if s, failed := d.pendingUpgrade(ctx); err == nil && failed == nil && s.from == 0 {
		err = i18n.Mistakef("%v：%s", "%v: %s", engine.ErrEmpty, d.config.Database)
	} else {
		err = errors.Join(err, failed)
	}
	if err != nil {
		return nil, errors.Join(d.Explain(err), d.Close())
	}
	return d, nil
}

func open(ctx context.Context, to *pgx.ConnConfig, o Options) (*DB, error) {
	config := to.Copy()
	for name, value := range limits {
		config.RuntimeParams[name] = value
	}
	config.RuntimeParams["application_name"] = sessionName(o.Run)
	config.ConnectTimeout = cmp.Or(config.ConnectTimeout, greeting)
	d := &DB{config: config, options: o, breaker: newBreaker(config)}
	words := newTranslator(o.Words)
	d.write = d.connect(config, words, writers, &d.fence)
	reading := config.Copy()
	reading.RuntimeParams["default_transaction_read_only"] = "on"
	d.read = d.connect(reading, words, readers, nil)
	if err := d.checkServer(ctx); err != nil {
		return nil, errors.Join(d.Explain(err), d.Close())
	}
	return d, nil
}

func (d *DB) connect(config *pgx.ConnConfig, words *translator, most int, f *fence) *sql.DB {
	pool := sql.OpenDB(connector{stdlib.GetConnector(*config), words, d.breaker, f, f != nil})
	pool.SetMaxOpenConns(most)
	pool.SetMaxIdleConns(most)
	pool.SetConnMaxIdleTime(10 * time.Minute)
	return pool
}

// Close closes the connections after the running statements.
func (d *DB) Close() error { return errors.Join(d.write.Close(), d.read.Close()) }

// Readers are connections that see committed data. Every write through them fails.
func (d *DB) Readers() *sql.DB { return d.read }

// Tx runs f in one write transaction and commits it unless f fails. ctx limits the wait for f to begin; what has begun is
// not interrupted, see [limits]. f is repeated if it met another transaction, so it must begin from the same values.
func (d *DB) Tx(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	for tries := 0; ; tries++ {
		err := d.once(ctx, f)
		if !isConflict(err) || tries == repeats {
			return d.Explain(err)
		}
		d.conflicts.Add(1)
		time.Sleep(rand.N(10*time.Millisecond) << tries)
	}
}

func (d *DB) once(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) (err error) {
	conn, err := d.write.Conn(ctx)
	if err != nil {
		return fmt.Errorf("wait for a connection: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	ctx = context.WithoutCancel(ctx)
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // unless it is committed; also if f panics
	if err := f(ctx, tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// Exec runs one statement in a transaction of its own, as [DB.Tx] does, but does not wait for the disk: a crash of the server
// undoes what has happened less than a second before, unless something else was committed since.
func (d *DB) Exec(ctx context.Context, query string, args ...any) (res sql.Result, err error) {
	err = d.Tx(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		if _, err := tx.ExecContext(ctx, `SET LOCAL synchronous_commit = off`); err != nil {
			return err
		}
		res, err = tx.ExecContext(ctx, query, args...)
		return err
	})
	return res, err
}

// Conflicts is how many transactions were repeated since the start because they met another one.
func (d *DB) Conflicts() int64 { return d.conflicts.Load() }

// CheckHealth reports whether the server takes a write. It returns at the latest when ctx ends.
func (d *DB) CheckHealth(ctx context.Context) error {
	done := make(chan error, 1)
	go func() {
		done <- d.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `SELECT txid_current()`) // fails on a server that is only read
			return err
		})
	}()
	select {
	case err := <-done:
		if err != nil {
			return i18n.Mistakef("写入数据库：%v", "write to the database: %v", err)
		}
		return nil
	case <-ctx.Done():
		return i18n.Mistakef("写入数据库：%v", "write to the database: %v", ctx.Err())
	}
}

// Check reports whether the role may do what this program needs. Damage is found by the server, whose operators look after
// it.
func (d *DB) Check(ctx context.Context) error { return d.Explain(d.checkRights(ctx)) }

// Backup says with what a copy is made.
func (d *DB) Backup(context.Context, string) error {
	return i18n.Mistakef("PostgreSQL 数据库请用 pg_dump 备份", "back a PostgreSQL database up with pg_dump")
}

// Guard tells when the server goes away, and when it is back, until ctx is done. It looks after its files itself.
func (d *DB) Guard(ctx context.Context, tell func(error)) { d.breaker.watch(ctx, tell) }

// Instance identifies this program on this machine: another one may use the same database.
func (d *DB) Instance() (string, error) { return d.options.Instance, nil }
