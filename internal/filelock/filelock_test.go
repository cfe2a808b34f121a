package filelock

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// A second holder is refused and told who has the lock; a released lock is free, and its file stays for the next one.
func TestOneHoldsTheLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "magpie.lock")
	l, err := Take(path)
	if err != nil {
		t.Fatal(err)
	}
	var held *HeldError
	if _, err := Take(path); !errors.As(err, &held) || held.PID != os.Getpid() {
		t.Errorf("a second one holds the lock: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("lock file: %v, %v", info, err)
	}
	for range 2 {
		if err := l.Release(); err != nil {
			t.Error(err)
		}
	}
	if l, err = Take(path); err != nil {
		t.Fatalf("a released lock is not free: %v", err)
	}
	l.Remove()
	if err := l.Release(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the lock file was not removed: %v", err)
	}
}

// Whoever opens the lock file just before its holder removes it does not hold the lock beside the next one.
func TestARemovedLockIsNoLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "magpie.lock")
	var holders, most, taken atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 500 {
				l, err := Take(path)
				if errors.As(err, new(*HeldError)) {
					continue
				} else if err != nil {
					t.Error(err)
					return
				}
				taken.Add(1)
				most.Store(max(most.Load(), holders.Add(1)))
				runtime.Gosched()
				holders.Add(-1)
				l.Remove()
				if err := l.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if most.Load() != 1 || taken.Load() == 0 {
		t.Errorf("%d hold the lock at once; it was taken %d times", most.Load(), taken.Load())
	}
}
