// Package db keeps what must outlive a crash: chats, their History, and the turns that answer it.
package db

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "github.com/mattn/go-sqlite3" // the "sqlite3" driver
	"github.com/pressly/goose/v3"
)

// ErrNotFound says that no such row exists.
var ErrNotFound = errors.New("not found")

//go:embed schema/*.sql
var schema embed.FS

// readers is how many connections may read at once; the writer is always one.
const readers = 4

// Config is the [db] section.
type Config struct {
	URL string `toml:"url" env:"URL"` // sqlite:///absolute/path.db or sqlite://relative/path.db
}

// Validate reports what is wrong with c.
func (c Config) Validate() error {
	_, err := c.path()
	return err
}

func (c Config) path() (string, error) {
	path, ok := strings.CutPrefix(c.URL, "sqlite://")
	if !ok || path == "" {
		return "", fmt.Errorf("[db] url %q: want sqlite:///path/to/magpie.db", c.URL)
	}
	return path, nil
}

// DB is the store. Its methods are safe for concurrent use; each is one transaction.
type DB struct {
	write *sql.DB // one connection
	read  *sql.DB
	now   func() time.Time

	writer *writer
}

// Open opens the database, creating the file and its folder when they do not exist, and brings its schema up to date.
func Open(ctx context.Context, c Config) (*DB, error) {
	path, err := c.path()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("folder of the database: %w", err)
	}
	if err := makePrivate(path); err != nil {
		return nil, err
	}
	d := &DB{now: time.Now}
	// synchronous=FULL: an event is acknowledged after its commit, so the commit must survive a power loss.
	// txlock=immediate: a transaction that reads first and then writes would otherwise meet SQLITE_BUSY.
	d.write, err = connect(ctx, path, 1, url.Values{
		"_journal_mode": {"WAL"}, "_synchronous": {"FULL"}, "_foreign_keys": {"1"}, "_busy_timeout": {"5000"}, "_txlock": {"immediate"},
		"_stmt_cache_size": {"64"}, // compiling the statements of an accept costs as much as running them
	})
	if err != nil {
		return nil, err
	}
	d.writer = newWriter(d.write, func() {})
	if err := d.migrate(ctx); err != nil {
		return nil, errors.Join(err, d.write.Close())
	}
	d.read, err = connect(ctx, path, readers, url.Values{"_query_only": {"1"}, "_busy_timeout": {"5000"}})
	if err != nil {
		return nil, errors.Join(err, d.write.Close())
	}
	return d, nil
}

// makePrivate creates the file when it does not exist. SQLite would make it readable for everybody, and gives its
// companions the mode of the file.
func makePrivate(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	return f.Close()
}

func connect(ctx context.Context, path string, conns int, q url.Values) (*sql.DB, error) {
	dsn := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}
	pool, err := sql.Open("sqlite3", dsn.String())
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	if err := pool.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", path, err), pool.Close())
	}
	return pool, nil
}

func (d *DB) migrate(ctx context.Context) error {
	files, err := fs.Sub(schema, "schema")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, d.write, files)
	if err != nil {
		return fmt.Errorf("database schema: %w", err)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("bring the database schema up to date: %w", err)
	}
	return nil
}

// Close closes the database, after the write that is under way.
func (d *DB) Close() error { return errors.Join(d.read.Close(), d.writer.close()) }

// tx runs f in one write transaction and commits it unless f fails. ctx bounds the wait for f to begin; a transaction
// that has begun is short and is not interrupted.
func (d *DB) tx(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	return d.writer.do(ctx, f)
}

// exec runs one statement in a transaction of its own, as tx does.
func (d *DB) exec(ctx context.Context, query string, args ...any) (res sql.Result, err error) {
	err = d.tx(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		res, err = tx.ExecContext(ctx, query, args...)
		return err
	})
	return res, err
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
