package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"magpie/db/engine"
)

// Backup writes a private copy of the database, as of one moment during the call, to path. Meanwhile this or another
// process may write to the database. Backup fails if path exists or the database is damaged; after it has returned nil,
// the copy is complete and on the disk. It takes about 5 seconds per GB.
func (d *DB) Backup(ctx context.Context, path string) error {
	if err := backup(ctx, d, path); err != nil {
		return explain(d.path, err)
	}
	return nil
}

func backup(ctx context.Context, d *DB, path string) error {
	return writeCopy(path, func(tmp string) error {
		defer d.watchCopy(tmp)()
		return copyTo(ctx, d, tmp)
	})
}

// copyPeriod is the interval at which the size of a copy is checked. SQLite does not report it.
const copyPeriod = 200 * time.Millisecond

// watchCopy reports the progress of a copy until end is called.
func (d *DB) watchCopy(tmp string) (end func()) {
	original, err := os.Stat(d.path)
	if d.options.Progress == nil || err != nil {
		return func() {}
	}
	stop := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		tick := time.NewTicker(copyPeriod)
		defer tick.Stop()
		for more := true; more; {
			select {
			case <-stop:
				more = false
			case <-tick.C:
			}
			if now, err := os.Stat(tmp); err == nil {
				d.report(engine.Copying, now.Size(), original.Size())
			}
		}
	})
	return func() { close(stop); watch.Wait() }
}

// writeCopy calls fill with an empty private file, and renames it to path when it is complete and on the disk.
func writeCopy(path string, fill func(tmp string) error) (err error) {
	if err := mustBeNew(path); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp") // private, and empty as SQLite requires
	if bad := (*fs.PathError)(nil); errors.As(err, &bad) {
		bad.Path = filepath.Dir(path) // rather than a name that nobody has chosen
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name()) // it is not a backup; the error already says so
		}
	}()
	err = fill(tmp.Name())
	if err == nil {
		err = tmp.Sync()
	}
	// Windows cannot rename an open file.
	if err := errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	if err := mustBeNew(path); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// mustBeNew uses Lstat: a dangling symbolic link exists, too, and must not be written through.
func mustBeNew(path string) error {
	_, err := os.Lstat(path)
	if err == nil {
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// copyTo makes SQLite write the database to an empty file, on a separate connection: a query_only reader cannot do it,
// and other queries must not wait.
func copyTo(ctx context.Context, d *DB, path string) error {
	pool, err := connect(ctx, d.path, 1, url.Values{"mode": {"ro"}, "_busy_timeout": {"5000"}}, nil)
	if err != nil {
		return err
	}
	_, err = pool.ExecContext(ctx, "VACUUM INTO ?1", path)
	return errors.Join(err, pool.Close())
}
