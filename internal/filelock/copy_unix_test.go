//go:build unix

package filelock

import (
	"path/filepath"
	"syscall"
	"testing"
)

// A child process holds a copy of every open file between fork and exec.
func TestReleasedWhileAnotherProgramIsStarted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "magpie.lock")
	l, err := Take(path)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Dup(int(l.file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd) //nolint:errcheck // a copy
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if l, err = Take(path); err != nil {
		t.Fatalf("a released lock is not free: %v", err)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}
