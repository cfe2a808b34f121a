package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// lock makes this process the only one that serves the database at path, until the returned file is closed or the
// process ends, however it ends. Two would each run the turns of the other. The lock is on a file of its own: closing
// the database's, which SQLite locks, would drop SQLite's locks.
// The file holds the process id, and stays when the lock is gone.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock of the database: %w", err)
	}
	free, err := tryLock(f)
	if err == nil && !free {
		err = &LockedError{Path: path, PID: holder(f)}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	// The id only helps whoever comes second; on a full disk it cannot be written, and the program has to start.
	if f.Truncate(0) == nil {
		_, _ = fmt.Fprintln(f, os.Getpid())
	}
	return f, nil
}

// unlock gives the lock up; once is enough. Closing the file would not do: a program that is just being started has a
// copy of it until it runs, and would hold the lock as long.
func unlock(f *os.File) error {
	releaseLock(f)
	if err := f.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// holder reads whose lock f is; 0 = not known.
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
