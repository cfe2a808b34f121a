// Package filelock locks files for one process of this machine: each lock is a file of its own, which names its holder.
//
// It does not know what a lock protects.
package filelock

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// Lock is a lock that this process holds.
type Lock struct{ file *os.File }

// HeldError means that another process, or another part of this one, holds the lock.
type HeldError struct {
	PID int // 0 = unknown
}

func (e *HeldError) Error() string { return fmt.Sprintf("held by process %d", e.PID) }

// Take takes the lock with the file at path, until it is released or the process ends in any way. The file contains the
// process ID, and remains when the lock is gone, unless [Lock.Remove] removes it. The error is a [HeldError] if somebody
// holds the lock.
func Take(path string) (*Lock, error) {
	for range 100 {
		l, err := open(path)
		if err != nil || l != nil {
			return l, err
		}
	}
	return nil, fmt.Errorf("lock file %s is replaced again and again", path)
}

// open locks the file. It returns nil if another process, which held the lock, has removed the file since it was
// opened: the next process would lock another one.
func open(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	free, err := try(f)
	if err == nil && !free {
		err = &HeldError{PID: holder(f)}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	l := &Lock{f}
	if inPlace, err := isInPlace(f); !inPlace {
		return nil, errors.Join(err, l.Release())
	}
	// The ID only informs a second process; on a full disk it cannot be written, and the program must start anyway.
	if f.Truncate(0) == nil {
		_, _ = fmt.Fprintln(f, os.Getpid())
	}
	return l, nil
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

// Remove removes the lock's file while this process holds the lock. Where an open file cannot be removed, as on Windows,
// it stays, which does no harm.
func (l *Lock) Remove() { _ = os.Remove(l.file.Name()) }

// Release releases the lock; it may be called again, and does nothing to no lock. Closing the file would not suffice: a child process that is just
// being started has a copy of it until it runs, and would hold the lock until then.
func (l *Lock) Release() error {
	if l == nil {
		return nil
	}
	release(l.file)
	if err := l.file.Close(); !errors.Is(err, os.ErrClosed) {
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
