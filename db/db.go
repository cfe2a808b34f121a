// Package db keeps what must outlive a crash: chats, their History, and the turns that answer it.
package db

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mattn/go-sqlite3"

	"magpie/internal/configtype"
)

// readers is how many connections may read at once; the writer is always one.
const readers = 4

// Config is the [db] section.
type Config struct {
	// sqlite:///absolute/path.db or sqlite://relative/path.db
	URL        string              `toml:"url" env:"URL"`
	HistoryTTL configtype.Duration `toml:"history_ttl" env:"HISTORY_TTL"` // how long messages are kept; 0 = for good
	// how long what only helps at work is kept, such as which events are known
	CacheTTL configtype.Duration `toml:"cache_ttl" env:"CACHE_TTL"`
}

// Defaults is the configuration of a program that configures nothing.
func Defaults() Config {
	return Config{URL: "sqlite://data/magpie.db", CacheTTL: configtype.Duration{Duration: 30 * 24 * time.Hour}}
}

// leastTTL is how long everything is kept at least: the platform repeats an event for 7.1 hours (page "Event
// subscription overview"), and what is not known any more counts as new.
const leastTTL = 24 * time.Hour

// Validate reports everything that is wrong with c.
func (c Config) Validate() error {
	_, err := c.path()
	errs := []error{err}
	if d := c.HistoryTTL.Duration; d != 0 && d < leastTTL {
		errs = append(errs, fmt.Errorf("[db] history_ttl %v: want %v or more, or 0 to keep everything", d, leastTTL))
	}
	if d := c.CacheTTL.Duration; d < leastTTL {
		errs = append(errs, fmt.Errorf("[db] cache_ttl %v: want %v or more", d, leastTTL))
	}
	return errors.Join(errs...)
}

func (c Config) path() (string, error) {
	path, ok := strings.CutPrefix(c.URL, "sqlite://")
	if !ok || path == "" {
		return "", fmt.Errorf("[db] url %q: want sqlite:///path/to/magpie.db", c.URL)
	}
	return path, nil
}

// followed is the file that a path names, all links resolved; a file that is not there yet has the path itself. Whoever
// opens the database, however he calls it, meets one file and one lock.
func followed(path string) string {
	if file, err := filepath.EvalSymlinks(path); err == nil {
		return file
	}
	return path
}

// Place is the folder in which the database really lies, and the files of which it is made.
func (c Config) Place() (folder string, files []string, err error) {
	path, err := c.path()
	if err != nil {
		return "", nil, err
	}
	if path, err = filepath.Abs(followed(path)); err != nil {
		return "", nil, fmt.Errorf("place of the database: %w", err)
	}
	return filepath.Dir(path), []string{path, path + "-wal", path + "-shm", path + ".lock"}, nil
}

// DB is the store. Its methods are safe for concurrent use; each is one transaction.
type DB struct {
	write *sql.DB // one connection
	read  *sql.DB
	now   func() time.Time

	path   string
	lock   *os.File   // nil when only reading
	files  *openFiles // nil when only reading
	writer *writer
	chats  *chatCache // nil when only reading

	indexFailed atomic.Pointer[error] // the last try to index; nil = it succeeded
}

// Open opens the database to serve it: it creates the file and its folder when they do not exist, checks it, and brings
// its schema up to date. While it is open nobody else can open it so; see [LockedError], [CorruptError] and
// [ErrNewerSchema].
func Open(ctx context.Context, c Config) (_ *DB, err error) {
	path, err := c.path()
	if err != nil {
		return nil, err
	}
	if !fullText {
		return nil, errors.New("this program was built without full-text search: build it with -tags sqlite_fts5, as scripts/run does")
	}
	if err := refuseAfterLoss(followed(path)); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("folder of the database: %w", err)
	}
	keepTogether()
	path = followed(path)
	d := &DB{path: path, now: time.Now, chats: newChatCache(hotChats)}
	if d.lock, err = lock(path); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(explain(path, err), d.Close())
		}
	}()
	if d.files, err = openPrivate(path); err != nil {
		return nil, err
	}
	if err := openPools(ctx, d); err != nil {
		return nil, err
	}
	files, err := fs.Sub(schema, "schema")
	if err != nil {
		return nil, err
	}
	if err := migrate(ctx, d, files); err != nil {
		return nil, err
	}
	if err := d.Index().catchUp(ctx); err != nil {
		return nil, err
	}
	return d, d.files.remember()
}

// Instance names the database on this machine: it is the same whenever the file is opened, and tells nothing about it.
func (d *DB) Instance() (string, error) {
	path, err := filepath.Abs(d.path)
	if err != nil {
		return "", fmt.Errorf("name the database: %w", err)
	}
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:8]), nil
}

// openPools opens the connections to a file that exists, after a look at its health.
func openPools(ctx context.Context, d *DB) (err error) {
	closed := !hasLog(d.path)
	// synchronous=FULL: an event is acknowledged after its commit, so the commit must survive a power loss.
	// txlock=immediate: a transaction that reads first and then writes would otherwise meet SQLITE_BUSY.
	d.write, err = connect(ctx, d.path, 1, url.Values{
		"_journal_mode": {"WAL"}, "_synchronous": {"FULL"}, "_foreign_keys": {"1"}, "_busy_timeout": {"5000"}, "_txlock": {"immediate"},
		"mode":             {"rw"}, // the file is there: another one must not be made in its place
		"_stmt_cache_size": {"64"}, // compiling the statements of an accept costs as much as running them
	}, prepareWriter(d))
	if err != nil {
		return err
	}
	d.writer = newWriter(d.write, d.path, d.files, func() { d.chats.settle() })
	// A reader's pages are dropped whenever somebody has written since it last read, so more of them would be memory
	// for nothing.
	d.read, err = connect(ctx, d.path, readers, url.Values{
		"mode": {"rw"}, "_query_only": {"1"}, "_busy_timeout": {"5000"}, "_stmt_cache_size": {"32"}, "_cache_size": {"-2000"},
	}, func(*sqlite3.SQLiteConn) error { return d.files.check() })
	if err != nil {
		return err
	}
	err = checkQuickly(ctx, d, closed, smallDatabase)
	if !onlyIndex(err) {
		return err
	}
	if err := d.Index().renew(ctx); err != nil {
		return err
	}
	return checkQuickly(ctx, d, false, smallDatabase)
}

// prepareWriter sets what a connection string cannot say, and tells the chats in memory of what is written.
func prepareWriter(d *DB) func(*sqlite3.SQLiteConn) error {
	return func(c *sqlite3.SQLiteConn) error {
		// Without a limit the log would stay as long as it has once been. A savepoint's undo log has no need of a file.
		_, err := c.Exec(fmt.Sprintf("PRAGMA journal_size_limit = %d; PRAGMA temp_store = MEMORY", walLimit), nil)
		c.RegisterUpdateHook(func(_ int, _, table string, row int64) {
			if table == "chats" {
				d.chats.change(row)
			}
		})
		return errors.Join(err, d.files.check())
	}
}

// OpenReadOnly opens a database that may be served by another process at the same time: for backups and checks. It
// takes no lock, changes nothing, and every write through it fails. It accepts an older schema than [Open] would leave.
func OpenReadOnly(ctx context.Context, c Config) (_ *DB, err error) {
	path, err := c.path()
	if err != nil {
		return nil, err
	}
	d := &DB{path: path, now: time.Now}
	defer func() {
		if err != nil {
			err = errors.Join(explain(path, err), d.Close())
		}
	}()
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	d.read, err = connect(ctx, path, readers, url.Values{"mode": {"ro"}, "_query_only": {"1"}, "_busy_timeout": {"5000"}}, nil)
	if err != nil {
		return nil, err
	}
	d.write = d.read
	d.writer = newWriter(d.write, path, nil, func() {})
	files, err := fs.Sub(schema, "schema")
	if err != nil {
		return nil, err
	}
	if _, err := pending(ctx, d, files); err != nil {
		return nil, err
	}
	return d, nil
}

// connector opens connections that are prepared by a hook.
type connector struct {
	dsn    string
	driver sqlite3.SQLiteDriver
}

func (c *connector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }

func (c *connector) Driver() driver.Driver { return &c.driver }

func connect(ctx context.Context, path string, conns int, q url.Values, hook func(*sqlite3.SQLiteConn) error) (*sql.DB, error) {
	dsn := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}
	pool := sql.OpenDB(&connector{dsn: dsn.String(), driver: sqlite3.SQLiteDriver{ConnectHook: hook}})
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	if err := pool.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", path, err), pool.Close())
	}
	return pool, nil
}

// Close closes the database, after the write that is under way.
func (d *DB) Close() error {
	var errs []error
	if d.files.overwritten() {
		errs = append(errs, d.leave())
	}
	if d.lock != nil && d.write != nil && d.files.check() == nil {
		// What SQLite learns here about the data helps it to plan; it is no loss when that fails.
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_, _ = d.write.ExecContext(ctx, "PRAGMA optimize")
		cancel()
	}
	if d.read != nil {
		errs = append(errs, d.read.Close())
	}
	if d.writer != nil {
		errs = append(errs, d.writer.close()) // the last connection empties the log into the database
	}
	if d.files != nil {
		errs = append(errs, d.files.close())
	}
	if d.lock != nil {
		errs = append(errs, unlock(d.lock))
	}
	return errors.Join(errs...)
}

// tx runs f in one write transaction and commits it unless f fails. ctx bounds the wait for f to begin; a transaction
// that has begun is short and is not interrupted. f may run with others in one commit, on another goroutine, and must
// not begin a transaction itself: it would wait for its own end. While another process holds SQLite's lock this waits
// for 5 seconds and fails: the platform delivers the message again.
func (d *DB) tx(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	return explain(d.path, d.writer.do(ctx, f))
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
