package sqlite

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"magpie/internal/i18n"
)

// lock makes this process the only one that serves the database at path, until the returned file is closed or the
// process ends in any way. Two processes would run each other's turns. The lock is on a separate file: closing the
// database file, which SQLite locks, would drop SQLite's locks. The lock file contains the process ID, and remains when
// the lock is gone, unless there is no database; see [removeLock].
func lock(path string) (*os.File, error) {
	for range 100 {
		f, err := openLock(path)
		if err != nil || f != nil {
			return f, err
		}
	}
	return nil, fmt.Errorf("lock file %s.lock is replaced again and again", path)
}

// openLock locks the lock file. It returns nil if another process, which held the lock, has removed the file since it
// was opened: the next process would lock another one.
func openLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, i18n.Mistakef("数据库无法写入：%v", "the database cannot be written: %v", err)
	}
	free, err := tryLock(f)
	if err == nil && !free {
		err = &LockedError{Path: path, PID: holder(f)}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if inPlace, err := isInPlace(f); !inPlace {
		return nil, errors.Join(err, unlock(f))
	}
	// The ID only informs a second process; on a full disk it cannot be written, and the program must start anyway.
	if f.Truncate(0) == nil {
		_, _ = fmt.Fprintln(f, os.Getpid())
	}
	return f, nil
}

// isInPlace reports whether the path of an open file still names it.
func isInPlace(f *os.File) (bool, error) {
	own, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Stat(f.Name())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(own, named), err
}

// removeLock removes the lock file of a database that was not made, while this process holds the lock; see openLock. Where
// an open file cannot be removed, as on Windows, it stays, which does no harm.
func removeLock(f *os.File) { _ = os.Remove(f.Name()) }

// unlock releases the lock; it may be called again. Closing the file would not suffice: a child process that is just
// being started has a copy of it until it runs, and would hold the lock until then.
func unlock(f *os.File) error {
	releaseLock(f)
	if err := f.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// holder reads the process ID of the lock's holder; 0 = unknown.
func holder(f *os.File) int {
	text, err := io.ReadAll(io.LimitReader(f, 32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return pid
}
