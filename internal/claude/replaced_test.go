package claude

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"magpie/internal/claude/workspace"
)

// A CLI that is gone, half written or a placeholder is awaited until it is complete, a minute at most and once. A program
// that has worked, or that stayed as it is for a minute, fails at once.
func TestAReplacedCLIIsAwaited(t *testing.T) {
	t.Parallel()
	write := func(t *testing.T, path, content string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o700); err != nil { //nolint:gosec // it stands for a program
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		cut    func(t *testing.T, path string) // begins the replacement
		err    error                           // of the start
		ends   func(t *testing.T, path string) // goes on with it, in time of its own
		within time.Duration                   // when another start makes sense; 0 = never
	}{
		"gone, and back": {
			func(t *testing.T, path string) { must(t, os.Rename(path, path+".old")) }, os.ErrNotExist,
			func(t *testing.T, path string) {
				time.Sleep(20 * time.Second)
				must(t, os.Rename(path+".old", path))
			}, 22 * time.Second,
		},
		"gone for good": {
			func(t *testing.T, path string) { must(t, os.Remove(path)) }, os.ErrNotExist,
			func(*testing.T, string) {}, 0,
		},
		"not executable yet": {
			func(t *testing.T, path string) { must(t, os.Chmod(path, 0o600)) }, os.ErrPermission,
			func(t *testing.T, path string) {
				time.Sleep(3 * time.Second)
				must(t, os.Chmod(path, 0o700))
			}, 5 * time.Second,
		},
		"a placeholder": {
			func(t *testing.T, path string) { write(t, path, "stub") }, &ExitError{Err: errors.New("exit status 1")},
			func(t *testing.T, path string) {
				time.Sleep(59 * time.Second)
				write(t, path, "the next version")
			}, time.Minute + time.Second,
		},
		"a placeholder that stays": {
			func(t *testing.T, path string) { write(t, path, "stub") }, &ExitError{Err: errors.New("exit status 1")},
			func(*testing.T, string) {}, 0,
		},
		"a file that grows": {
			func(t *testing.T, path string) { write(t, path, "t") }, syscall.ENOEXEC,
			func(t *testing.T, path string) {
				for i := range 100 {
					time.Sleep(100 * time.Millisecond)
					write(t, path, strings.Repeat("t", i+2))
				}
			}, 12 * time.Second,
		},
		"being written, and the same then": {
			func(*testing.T, string) {}, syscall.ETXTBSY, func(*testing.T, string) {}, 2 * time.Second,
		},
		"the program that works, and has died": {
			func(*testing.T, string) {}, &ExitError{Err: errors.New("exit status 1")}, func(*testing.T, string) {}, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "claude")
				write(t, path, "this version")
				pool := &Pool{installation: newInstallation(path)}
				tc.cut(t, path)
				failed := &StartError{tc.err, workspace.ProgramAt(path)}
				go tc.ends(t, path)
				began, told := time.Now(), 0
				again := NewReplacement(pool).Await(t.Context(), failed, func() { told++ })
				took := time.Since(began)
				if again != (tc.within > 0) || again && took > tc.within || took > replaceLimit {
					t.Errorf("another start: %v after %v", again, took)
				}
				begun := time.Now()
				if !again && (NewReplacement(pool).Await(t.Context(), failed, func() { told++ }) || time.Since(begun) > 0) {
					t.Error("it is awaited again")
				}
				if waited := took > 0; waited != (told == 1) {
					t.Errorf("told %d times after %v", told, took)
				}
			})
		})
	}
}

// Nobody waits for the CLI any more when the turn is stopped; and a turn waits for a minute in all.
func TestAWaitForTheCLIEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "claude")
		pool := &Pool{installation: newInstallation(path)}
		failed := &StartError{os.ErrNotExist, workspace.Program{}}
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Second, stop)
		began := time.Now()
		if NewReplacement(pool).Await(ctx, failed, func() {}) || time.Since(began) != 10*time.Second {
			t.Errorf("a stopped turn waited for %v", time.Since(began))
		}
		began = time.Now()
		turn := NewReplacement(pool)
		for i := range 300 { // another half of a program each time
			must(t, os.WriteFile(path, make([]byte, i+1), 0o700)) //nolint:gosec // it stands for a program
			if !turn.Await(t.Context(), failed, func() {}) {
				break
			}
		}
		if took := time.Since(began); took != replaceLimit {
			t.Errorf("a turn waited for %v", took)
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
