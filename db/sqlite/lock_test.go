package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/db/sqlite"
	"magpie/internal/chat"
)

func refused(t *testing.T, path string, pid int) {
	t.Helper()
	d, err := db.Open(t.Context(), db.Config{URL: "sqlite://" + path})
	var locked *sqlite.LockedError
	if !errors.As(err, &locked) {
		t.Fatalf("a second one opened the database: %v, %v", d, err)
	}
	if locked.PID != pid || !strings.Contains(err.Error(), fmt.Sprintf("process %d", pid)) ||
		!strings.Contains(err.Error(), path) {
		t.Errorf("want process %d named, got: %v", pid, err)
	}
}

func TestOneProcessServesTheDatabase(t *testing.T) {
	path := dbtest.Create(t)
	other := startHelper(t, "serve", path)
	refused(t, path, other.Process.Pid)
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Open(t.Context(), db.Config{URL: "sqlite://" + link}); !errors.As(err, new(*sqlite.LockedError)) {
		t.Errorf("through another path the database opens a second time: %v", err)
	}
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	other.end()

	d := open(t, path) // the lock of a dead process has no effect
	refused(t, path, os.Getpid())
	accept(t, d, say("om_1", "the refused one did no harm"))
	if info, err := os.Stat(path + ".lock"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("lock file: %v, %v", info.Mode(), err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	accept(t, open(t, path), say("om_2", "the lock goes with Close"))
}

// A first start that fails leaves nothing behind, not even the lock file.
func TestAFirstStartThatFailsLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "magpie.db")
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if d, err := db.Open(stopped, db.Config{URL: "sqlite://" + path}); err == nil {
		t.Fatalf("a stopped start succeeded: %v", d)
	}
	if left, err := filepath.Glob(path + "*"); err != nil || len(left) != 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
	accept(t, open(t, path), say("om_1", "hi"))
}

// Files beside the database are in the folder of its real path, also when it is opened through a link.
func TestTheDatabaseBehindALink(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	real, link := filepath.Join(dir, "real", "magpie.db"), filepath.Join(dir, "link.db")
	cfg := db.Config{URL: "sqlite://" + link}
	if folder, _, err := cfg.DSN().Paths(); err != nil || folder != dir {
		t.Errorf("before there is one: %q, %v", folder, err)
	}
	open(t, real)
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	folder, files, err := cfg.DSN().Paths()
	if err != nil || folder != filepath.Dir(real) || files[0] != real {
		t.Errorf("%q, %q, %v", folder, files, err)
	}
}

func TestReadingOnlyTakesNoLockAndWritesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "magpie.db")
	cfg := db.Config{URL: "sqlite://" + path}
	if _, err := db.OpenReadOnly(t.Context(), cfg); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing database: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("opening read-only created the file: %v", err)
	}
	d := open(t, path)
	read := func(when string) {
		t.Helper()
		ro, err := db.OpenReadOnly(t.Context(), cfg)
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		defer ro.Close() //nolint:errcheck // checked where it matters
		if ch, err := ro.Chats().Get(t.Context(), oc); err != nil || ch.Kind != chat.Private {
			t.Errorf("%s: chat %+v, %v", when, ch, err)
		}
		if err := ro.Check(t.Context()); err != nil {
			t.Errorf("%s: %v", when, err)
		}
		if a, err := ro.Messages().Accept(t.Context(), say("om_2", "x")); err == nil {
			t.Errorf("%s: accepted %+v", when, a)
		}
		if err := ro.Outbox().SetCard(t.Context(), db.Post{Turn: 1}, "card"); err == nil {
			t.Errorf("%s: a card was stored", when)
		}
		if ro.CheckHealth(t.Context()) == nil {
			t.Errorf("%s: it is writable", when)
		}
		if err := ro.Close(); err != nil {
			t.Error(err)
		}
	}
	accept(t, d, say("om_1", "hi"))
	read("served")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	read("not served")
	if a := accept(t, open(t, path), say("om_2", "x")); !a.Fresh {
		t.Error("the refused message is stored")
	}
}

// Another process, such as a backup tool or the sqlite3 shell, holds SQLite's own lock for longer than a write waits. A
// message that cannot be stored fails, is delivered again, and is stored once.
func TestAnotherProcessHoldsTheDatabase(t *testing.T) {
	t.Parallel()
	path := dbtest.Create(t)
	d := open(t, path)
	accept(t, d, say("om_0", "before"))
	other := startHelper(t, "lock", path)

	var failed, fresh atomic.Int64
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			for try := range 50 {
				a, err := d.Messages().Accept(t.Context(), say(fmt.Sprintf("om_w%d", w), "x"))
				if err != nil {
					failed.Add(1)
					continue // delivered again, as by the platform
				}
				if !a.Fresh {
					t.Errorf("message %d was stored by attempt %d, which failed", w, try-1)
				}
				fresh.Add(1)
				return
			}
		})
	}
	until(t, "message that failed, and waits again", func() bool { return failed.Load() > 0 && fileOf(d).Waiting() > 0 })
	if got := history(t, d, 0, 99); got != "u:before" {
		t.Errorf("reading meanwhile: %q", got)
	}
	if err := healthyWithin(t, d, time.Second); err == nil {
		t.Error("the lock had no effect")
	}
	if n := fresh.Load(); n != 0 {
		t.Errorf("%d messages are stored already", n)
	}
	other.end()
	wg.Wait()
	if n := fresh.Load(); n != 16 {
		t.Errorf("%d were stored", n)
	}
	if err := d.CheckHealth(t.Context()); err != nil {
		t.Error(err)
	}
	if list := claim(t, d, "s").Asked; len(list) != 17 {
		t.Errorf("%d messages are stored, want 17", len(list))
	}
}
