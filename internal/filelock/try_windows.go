package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockedByte is the locked byte: far behind the text, which others could not read otherwise.
func lockedByte() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 1 << 20} }

// try locks a file for this process, and reports whether it could: another process may have locked it.
func try(f *os.File) (bool, error) {
	const how = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, lockedByte())
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}

// release undoes try; it fails only if the file is already closed.
func release(f *os.File) { _ = windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, lockedByte()) }
