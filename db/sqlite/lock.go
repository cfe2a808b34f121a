package sqlite

import (
	"errors"
	"io/fs"

	"magpie/internal/filelock"
	"magpie/internal/i18n"
)

// Lock makes this process the only one that serves the database at path, until the lock is released or the process ends
// in any way. Two processes would run each other's turns. The lock is on a separate file: closing the database file,
// which SQLite locks, would drop SQLite's locks.
func Lock(path string) (*filelock.Lock, error) {
	l, err := filelock.Take(path + ".lock")
	var held *filelock.HeldError
	switch {
	case errors.As(err, &held):
		return nil, &LockedError{Path: path, PID: held.PID}
	case errors.As(err, new(*fs.PathError)):
		return nil, i18n.Mistakef("数据库无法写入：%v", "the database cannot be written: %v", err)
	}
	return l, err
}
