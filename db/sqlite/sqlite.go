// Package sqlite is the engine under db: one SQLite file that one process serves. It opens and locks the file, commits
// writes in groups, keeps the log short, brings the schema up to date, makes copies, and notices when the file is
// damaged or somebody takes it away. Which tables there are, and every query of theirs, does not belong here.
package sqlite

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
	"time"
)

// readers is how many connections may read at once; the writer is always one.
const readers = 4

// Options is what a database is opened with.
type Options struct {
	Schema fs.FS // the migrations, as goose reads them

	// Changed is called during a write for every row that it changes, and Settled after the commit or
	// rollback of each group of writes, before any caller gets its result. SQLite does not report rows
	// that are deleted by REPLACE or by DELETE without WHERE.
	Changed func(table string, row int64)
	Settled func()

	// Progress is told how far work is that may take minutes; nil = nobody wants to know. It is called from another
	// goroutine, but never twice at the same time.
	Progress func(w Work, done, total int64)

	// Derived reports whether what a check has found is only damage to what Renew can make again.
	Derived func(error) bool
	Renew   func(context.Context, *DB) error
}

// Work is something that may take minutes with a large database.
type Work string

// The kinds of work, and in what they are counted.
const (
	Copying   Work = "copy"    // bytes of the copy; it may become smaller than the original
	Upgrading Work = "upgrade" // steps of the schema
	Indexing  Work = "index"   // messages
)

// report tells how far some work is, if somebody wants to know.
func (f *File) report(w Work, done, total int64) {
	if f.options.Progress != nil {
		f.options.Progress(w, done, total)
	}
}

// File is an open database as a file: whether it is whole, in its place and on a disk with room.
type File struct {
	write *sql.DB // one connection
	read  *sql.DB

	path    string
	options Options
	lock    *os.File   // nil when only reading
	files   *openFiles // nil when only reading
	writer  *writer
}

// DB is an open database. Its methods are safe for concurrent use.
type DB struct{ *File }

// Real is the file that a path names, all links resolved; a file that is not there yet has the path itself. Whoever
// opens the database, however he calls it, meets one file and one lock.
func Real(path string) string {
	if file, err := filepath.EvalSymlinks(path); err == nil {
		return file
	}
	return path
}

// Files are those of which the database at path is made, or may be.
func Files(path string) []string { return []string{path, path + "-wal", path + "-shm", path + ".lock"} }

// Open opens the database for serving: it creates the file and its folder if necessary, checks it, and upgrades its
// schema. No other process can open it this way meanwhile; see [LockedError], [CorruptError] and [ErrNewerSchema].
func Open(ctx context.Context, path string, o Options) (_ *DB, err error) {
	// After a loss the rescued copy must be put in place first; a new empty file would hide it.
	if err := refuseAfterLoss(Real(path)); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("folder of the database: %w", err)
	}
	keepTogether()
	path = Real(path)
	d := &DB{&File{path: path, options: o}}
	// Locked before anything is read: another process may be upgrading the schema.
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
	if err := d.openPools(ctx); err != nil {
		return nil, err
	}
	if err := migrate(ctx, d.File, o.Schema); err != nil {
		return nil, err
	}
	return d, nil
}

// Remember notes which files are open, once the database is ready to be served. From then on a write fails with a
// [LostError] when they are not in place.
func (d *DB) Remember() error { return d.files.remember() }

// openPools opens the connections to a file that exists, after a look at its health.
func (d *DB) openPools(ctx context.Context) (err error) {
	closed := !hasLog(d.path)
	// synchronous=FULL: an event is acknowledged after its commit, so the commit must survive a power loss.
	// txlock=immediate: a transaction that reads first and then writes would otherwise meet SQLITE_BUSY.
	d.write, err = connect(ctx, d.path, 1, url.Values{
		"_journal_mode": {"WAL"}, "_synchronous": {"FULL"}, "_foreign_keys": {"1"}, "_busy_timeout": {"5000"}, "_txlock": {"immediate"},
		"mode":             {"rw"}, // the file is there: another one must not be made in its place
		"_stmt_cache_size": {"64"}, // compiling the statements of an accept costs as much as running them
	}, d.prepareWriter)
	if err != nil {
		return err
	}
	d.writer = newWriter(d.write, d.path, d.files, d.options.Settled)
	// A reader's pages are dropped whenever somebody has written since it last read, so more of them would be memory
	// for nothing.
	d.read, err = connect(ctx, d.path, readers, url.Values{
		"mode": {"rw"}, "_query_only": {"1"}, "_busy_timeout": {"5000"}, "_stmt_cache_size": {"32"}, "_cache_size": {"-2000"},
	}, func(conn) error { return d.files.check() })
	if err != nil {
		return err
	}
	err = checkQuickly(ctx, d.File, closed, smallDatabase)
	if !d.options.Derived(err) {
		return err
	}
	if err := d.options.Renew(ctx, d); err != nil {
		return err
	}
	return checkQuickly(ctx, d.File, false, smallDatabase)
}

// prepareWriter sets what a connection string cannot express, and has SQLite call Changed.
func (d *DB) prepareWriter(c conn) error {
	// Without a limit the log would stay as long as it has once been. A savepoint's undo log has no need of a file.
	err := c.exec(fmt.Sprintf("PRAGMA journal_size_limit = %d; PRAGMA temp_store = MEMORY", walLimit))
	c.onChange(d.options.Changed)
	return errors.Join(err, d.files.check())
}

// OpenReadOnly opens a database that may be served by another process at the same time: for backups and checks. It
// takes no lock, changes nothing, and every write through it fails. It accepts an older schema than [Open] would leave.
func OpenReadOnly(ctx context.Context, path string, o Options) (_ *DB, err error) {
	d := &DB{&File{path: path, options: o}}
	defer func() {
		if err != nil {
			err = errors.Join(explain(path, err), d.Close())
		}
	}()
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	d.read, err = connect(
		ctx, path, readers, url.Values{"mode": {"ro"}, "_query_only": {"1"}, "_busy_timeout": {"5000"}}, nil,
	)
	if err != nil {
		return nil, err
	}
	d.write = d.read
	d.writer = newWriter(d.write, path, nil, func() {})
	if _, err := pending(ctx, d.File, o.Schema); err != nil {
		return nil, err
	}
	return d, nil
}

// connector opens connections that are prepared by a hook.
type connector struct {
	dsn    string
	driver driver.Driver
}

func (c *connector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }

func (c *connector) Driver() driver.Driver { return c.driver }

// connect escapes the path: a question mark in a folder's name would otherwise begin the parameters of the DSN.
func connect(ctx context.Context, path string, conns int, q url.Values, prepare func(conn) error) (*sql.DB, error) {
	dsn := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath(), RawQuery: q.Encode()}
	pool := sql.OpenDB(&connector{dsn: dsn.String(), driver: newDriver(prepare)})
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	if err := pool.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", path, err), pool.Close())
	}
	return pool, nil
}

// Close closes the database, after the write that is under way.
func (f *File) Close() error {
	var errs []error
	if f.files.overwritten() {
		errs = append(errs, f.leave())
	}
	if f.lock != nil && f.write != nil && f.files.check() == nil {
		// What SQLite learns here about the data helps it to plan; it is no loss when that fails.
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_, _ = f.write.ExecContext(ctx, "PRAGMA optimize")
		cancel()
	}
	if f.read != nil {
		errs = append(errs, f.read.Close())
	}
	if f.writer != nil {
		errs = append(errs, f.writer.close()) // the last connection empties the log into the database
	}
	if f.files != nil {
		if f.files.leftLog() {
			errs = append(errs, setLogAside(f.path))
		}
		errs = append(errs, f.files.close())
	}
	if f.lock != nil {
		errs = append(errs, unlock(f.lock))
	}
	return errors.Join(errs...)
}

// Instance names the database on this machine: it is the same whenever the file is opened, and tells nothing about it.
func (f *File) Instance() (string, error) {
	path, err := filepath.Abs(f.path)
	if err != nil {
		return "", fmt.Errorf("name the database: %w", err)
	}
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:8]), nil
}

// Readers are connections that see what is committed. Every write through them fails.
func (d *DB) Readers() *sql.DB { return d.read }

// Tx runs f in one write transaction and commits it unless f fails. ctx bounds the wait for f to begin; a transaction
// that has begun is short and is not interrupted. f may run with others in one commit, on another goroutine, and must
// not begin a transaction itself: it would wait for its own end. While another process holds SQLite's lock this waits
// for 5 seconds and fails: the platform delivers the message again.
func (d *DB) Tx(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	return explain(d.path, d.writer.do(ctx, f))
}

// Exec runs one statement in a transaction of its own, as [DB.Tx] does.
func (d *DB) Exec(ctx context.Context, query string, args ...any) (res sql.Result, err error) {
	err = d.Tx(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		res, err = tx.ExecContext(ctx, query, args...)
		return err
	})
	return res, err
}

// Explain gives the errors of a query that somebody has to act upon their types: [ErrFull] and [CorruptError].
func (d *DB) Explain(err error) error { return explain(d.path, err) }
