package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"magpie/internal/configtype"
)

// lock makes this process the only one that serves the database at path, until the returned file is closed or the
// process ends in any way. Two processes would run each other's turns. The lock is on a separate file: closing the
// database file, which SQLite locks, would drop SQLite's locks. The lock file contains the process ID, and remains when
// the lock is gone.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, configtype.Mistakef("数据库无法写入：%v", "the database cannot be written: %v", err)
	}
	free, err := tryLock(f)
	if err == nil && !free {
		err = &LockedError{Path: path, PID: holder(f)}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	// The ID only informs a second process; on a full disk it cannot be written, and the program must start anyway.
	if f.Truncate(0) == nil {
		_, _ = fmt.Fprintln(f, os.Getpid())
	}
	return f, nil
}

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
