//go:build unix

package filelock

import (
	"errors"
	"os"
	"syscall"
)

// try locks a file for this process, and reports whether it could: another process may have locked it.
func try(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// release undoes try; it fails only if the file is already closed.
func release(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
