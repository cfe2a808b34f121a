package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Backup writes a copy of the database to path, as it is at one moment during the call, and private. The database may
// be written to meanwhile, by this process or another. It fails when path exists or the database is damaged; what is at
// path when it has returned nil is complete and on the disk. It takes about 5 seconds per GB.
func (f *File) Backup(ctx context.Context, path string) error {
	if err := backup(ctx, f, path); err != nil {
		return fmt.Errorf("back up the database to %s: %w", path, explain(f.path, err))
	}
	return nil
}

func backup(ctx context.Context, f *File, path string) error {
	return writeCopy(path, func(tmp string) error {
		defer f.watchCopy(tmp)()
		return copyTo(ctx, f, tmp)
	})
}

// copyPeriod is how often it is looked how large a copy has become. SQLite does not tell.
const copyPeriod = 200 * time.Millisecond

// watchCopy reports how a copy grows, until end is called.
func (f *File) watchCopy(tmp string) (end func()) {
	original, err := os.Stat(f.path)
	if f.options.Progress == nil || err != nil {
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
				f.report(Copying, now.Size(), original.Size())
			}
		}
	})
	return func() { close(stop); watch.Wait() }
}

// writeCopy has fill write an empty private file, and gives it its name when it is complete and on the disk.
func writeCopy(path string, fill func(tmp string) error) (err error) {
	if err := mustBeNew(path); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp") // private, and empty as SQLite wants it
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name()) // is no backup; the error says so already
		}
	}()
	err = fill(tmp.Name())
	if err == nil {
		err = tmp.Sync()
	}
	// Windows gives no new name to an open file.
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
		return fs.ErrExist
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// copyTo has SQLite write the database to an empty file. The connection is one of its own: a reader that is query_only
// cannot, and the copy must not make the others wait.
func copyTo(ctx context.Context, f *File, path string) error {
	pool, err := connect(ctx, f.path, 1, url.Values{"mode": {"ro"}, "_busy_timeout": {"5000"}}, nil)
	if err != nil {
		return err
	}
	_, err = pool.ExecContext(ctx, "VACUUM INTO ?1", path)
	return errors.Join(err, pool.Close())
}
