// Package sqlite is the engine under db: one SQLite file that one process serves. It opens and locks the file, commits
// writes in groups, keeps the log short, upgrades the schema, makes copies, and detects damage to the file or its
// removal. The tables and their queries are not part of it.
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

	"magpie/db/engine"
	"magpie/internal/filelock"
	"magpie/internal/i18n"
)

// readers is the number of read connections; there is always one writer.
const readers = 4

// Options are the options for opening a database.
type Options struct {
	Schema fs.FS // the migrations, as goose reads them

	// Changed is called during a write for every row that it changes, and Finished after the commit or rollback of each
	// group of writes, before any caller gets its result. SQLite does not report rows deleted by REPLACE or by DELETE
	// without WHERE.
	Changed  func(table string, row int64)
	Finished func()
	// Unknown is called when it is not known any more what the file holds: writes are undone that those behind them in
	// their group may have read, which comes before Finished, or another program has changed the file before a group.
	Unknown func()

	// Progress reports the progress of work that may take minutes; nil = no reports. It is called from another
	// goroutine, but never concurrently.
	Progress func(w engine.Work, done, total int64)

	// Derived reports whether the findings of a check are only damage that Renew can rebuild.
	Derived func(error) bool
	Renew   func(context.Context, *DB) error
}

// report reports the progress of work.
func (d *DB) report(w engine.Work, done, total int64) {
	if d.options.Progress != nil {
		d.options.Progress(w, done, total)
	}
}

// DB is an open database, and its file: whether it is intact, in place, and on a disk with space. Its methods are safe
// for concurrent use.
type DB struct {
	write *sql.DB // one connection
	read  *sql.DB

	path    string
	options Options
	lock    *filelock.Lock // nil if read-only
	files   *openFiles     // nil if read-only
	writer  *writer
}

// RealPath is the file that a path names, with links resolved; for a missing file it is the path itself. So everyone
// who opens the database meets the same file and lock, whatever path is used.
func RealPath(path string) string {
	if file, err := filepath.EvalSymlinks(path); err == nil {
		return file
	}
	return path
}

// Files lists the possible files of the database at path.
func Files(path string) []string { return []string{path, path + "-wal", path + "-shm", path + ".lock"} }

// isMissing reports whether there is no file at a path.
func isMissing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// Open opens the database for serving: it creates the file and its folder if necessary, checks it, and upgrades its
// schema. A file that it has created does not stay if it fails. No other process can open it this way meanwhile; see
// [LockedError], [CorruptError] and [engine.ErrNewerSchema].
func Open(ctx context.Context, path string, o Options) (_ *DB, err error) {
	// After a loss the rescued copy must be put in place first; a new empty file would hide it.
	if err := refuseAfterLoss(RealPath(path)); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, i18n.Mistakef("数据库的文件夹：%v", "folder of the database: %v", err)
	}
	useSingleHeap()
	path = RealPath(path)
	d := &DB{path: path, options: o}
	// Locked before anything is read: another process may be upgrading the schema.
	if d.lock, err = Lock(path); err != nil {
		return nil, err
	}
	isNew := isMissing(path)
	defer func() {
		if err == nil {
			return
		}
		err = explain(path, err)
		if isNew { // nothing was stored, and an empty file would look like a database that lost everything
			err = errors.Join(err, d.removeNew())
		}
		err = errors.Join(err, d.Close())
	}()
	if d.files, err = openPrivate(path); err != nil {
		return nil, err
	}
	if err := d.openPools(ctx); err != nil {
		return nil, err
	}
	if err := migrate(ctx, d, o.Schema); err != nil {
		return nil, err
	}
	return d, nil
}

// RecordOpenFiles records the open files once the database is ready. From then on a write fails with a [LostError] if
// they are not in place.
func (d *DB) RecordOpenFiles() error { return d.files.recordFiles() }

// openPools opens the connections to an existing file, after a quick check.
func (d *DB) openPools(ctx context.Context) (err error) {
	closed := !hasLog(d.path)
	// synchronous=FULL: an event is acknowledged after its commit, so the commit must survive a power loss.
	// txlock=immediate: a transaction that reads first and then writes would otherwise meet SQLITE_BUSY.
	d.write, err = connect(ctx, d.path, 1, url.Values{
		"_journal_mode": {"WAL"}, "_synchronous": {"FULL"}, "_foreign_keys": {"1"},
		"_busy_timeout": {"5000"}, "_txlock": {"immediate"},
		"mode":             {"rw"}, // the file exists: another one must not be created in its place
		"_stmt_cache_size": {"64"}, // compiling the statements of an accept costs as much as running them
	}, d.prepareWriter)
	if err != nil {
		return err
	}
	d.writer = newWriter(d.write, d.path, d.files, d.options)
	// A reader's cached pages are dropped after each write, so a larger cache would waste memory.
	d.read, err = connect(ctx, d.path, readers, url.Values{
		"mode": {"rw"}, "_query_only": {"1"}, "_busy_timeout": {"5000"}, "_stmt_cache_size": {"32"}, "_cache_size": {"-2000"},
	}, func(conn) error { return d.files.check() })
	if err != nil {
		return err
	}
	err = checkQuickly(ctx, d, closed, smallDatabase)
	if !d.options.Derived(err) {
		return err
	}
	if err := d.options.Renew(ctx, d); err != nil {
		return err
	}
	return checkQuickly(ctx, d, false, smallDatabase)
}

// prepareWriter sets what a connection string cannot express, and registers Changed.
func (d *DB) prepareWriter(c conn) error {
	// Without a limit the log would keep its largest size. A savepoint's undo log needs no file.
	err := c.exec(fmt.Sprintf("PRAGMA journal_size_limit = %d; PRAGMA temp_store = MEMORY", walLimit))
	c.onChange(d.options.Changed)
	return errors.Join(err, d.files.check())
}

// OpenReadOnly opens a database that another process may be serving, for backups and checks. It takes no lock, changes
// nothing, and every write through it fails. It accepts an older schema than that of [Open], but see [engine.ErrEmpty].
func OpenReadOnly(ctx context.Context, path string, o Options) (_ *DB, err error) {
	d := &DB{path: path, options: o}
	defer func() {
		if err != nil {
			err = errors.Join(explain(path, err), d.Close())
		}
	}()
	if isMissing(path) {
		return nil, &missingError{path}
	} else if _, err := os.Stat(path); err != nil {
		return nil, i18n.Mistakef("数据库：%v", "database: %v", err)
	}
	d.read, err = connect(
		ctx, path, readers, url.Values{"mode": {"ro"}, "_query_only": {"1"}, "_busy_timeout": {"5000"}}, nil,
	)
	if err != nil {
		return nil, err
	}
	d.write = d.read
	d.writer = newWriter(d.write, path, nil, Options{})
	if s, err := pendingUpgrade(ctx, d, o.Schema); err != nil {
		return nil, err
	} else if s.from == 0 {
		return nil, i18n.Mistakef("%v：%s", "%v: %s", engine.ErrEmpty, path)
	}
	return d, nil
}

// connector opens connections and prepares them with a hook.
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

// Close closes the database after the running write.
func (d *DB) Close() error {
	var errs []error
	if d.files.isOverwritten() {
		errs = append(errs, d.keepOverwritten())
	}
	if d.lock != nil && d.write != nil && d.files.check() == nil {
		// These statistics only help SQLite's planner, so a failure does not matter.
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_, _ = d.write.ExecContext(ctx, "PRAGMA optimize")
		cancel()
	}
	errs = append(errs, d.closePools())
	if d.files != nil {
		if d.files.hasOrphanedLog() {
			errs = append(errs, setLogAside(d.path))
		}
		errs = append(errs, d.files.close())
	}
	if d.lock != nil {
		errs = append(errs, d.lock.Release())
	}
	return errors.Join(errs...)
}

// removeNew removes the files of a database that could not be set up.
func (d *DB) removeNew() error {
	defer d.lock.Remove()
	if d.files == nil { // there are none yet
		return nil
	}
	errs := []error{d.closePools(), d.files.close()}
	for _, suffix := range suffixes {
		if err := os.Remove(d.path + suffix); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// closePools closes the connections; it may be called again.
func (d *DB) closePools() error {
	var errs []error
	if d.read != nil {
		errs = append(errs, d.read.Close())
	}
	if d.writer != nil {
		errs = append(errs, d.writer.close()) // the last connection copies the log into the database
	}
	return errors.Join(errs...)
}

// Instance identifies the database on this machine: it is the same whenever the file is opened, and reveals nothing
// about it.
func (d *DB) Instance() (string, error) {
	path, err := filepath.Abs(d.path)
	if err != nil {
		return "", fmt.Errorf("name the database: %w", err)
	}
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:8]), nil
}

// Readers are connections that see committed data. Every write through them fails.
func (d *DB) Readers() *sql.DB { return d.read }

// Tx runs f in one write transaction and commits it unless f fails. ctx limits the wait for f to begin; a transaction
// that has begun is short and is not interrupted. f may share its commit with others, and may run on another goroutine.
// It must not begin a transaction itself: that would deadlock. While another process holds SQLite's lock, Tx waits 5
// seconds and fails: the platform redelivers the message.
func (d *DB) Tx(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	return explain(d.path, d.writer.do(ctx, f))
}

// Exec runs one statement in a separate transaction, as [DB.Tx] does.
func (d *DB) Exec(ctx context.Context, query string, args ...any) (res sql.Result, err error) {
	err = d.Tx(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		res, err = tx.ExecContext(ctx, query, args...)
		return err
	})
	return res, err
}

// Explain converts query errors that somebody has to act on to [engine.ErrFull] and [CorruptError].
func (d *DB) Explain(err error) error { return explain(d.path, err) }
