//go:build unix

package sqlite

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks a file for this process, and reports whether it could: another process may have locked it.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// releaseLock undoes tryLock; it fails only if the file is already closed.
func releaseLock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// syncFolder makes a new name durable: fsync of a file does not store its directory entry.
func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
