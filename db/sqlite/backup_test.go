package sqlite_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/db/engine"
	"magpie/db/sqlite"
	"magpie/internal/smalldisk"
)

// acceptAll keeps storing messages until stop is called; known returns those acknowledged so far.
func acceptAll(t *testing.T, d *db.DB, writers int) (known func() []string, stop func()) {
	t.Helper()
	var mu sync.Mutex
	var ids []string
	var wg sync.WaitGroup
	end := make(chan struct{})
	for w := range writers {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-end:
					return
				default:
				}
				e := say(fmt.Sprintf("om_%d_%d", w, i), strings.Repeat("x", 300))
				if _, err := d.Messages().Accept(t.Context(), e); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				ids = append(ids, e.ID)
				mu.Unlock()
			}
		})
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return ids[:len(ids):len(ids)]
	}, sync.OnceFunc(func() { close(end); wg.Wait() })
}

func TestABackupHoldsAllThatWasAcknowledged(t *testing.T) {
	t.Parallel()
	for name, backUp := range map[string]func(t *testing.T, d *db.DB, from, to string){
		"by the one that serves": func(t *testing.T, d *db.DB, _, to string) {
			if err := d.Backup(t.Context(), to); err != nil {
				t.Fatal(err)
			}
		},
		"by another process": func(t *testing.T, _ *db.DB, from, to string) { startHelper(t, "backup", from, to) },
	} {
		t.Run(name, func(t *testing.T) {
			from, folder := dbtest.Create(t), t.TempDir()
			to := filepath.Join(folder, "it's a copy ?.db")
			d := open(t, from)
			known, stop := acceptAll(t, d, 4)
			defer stop()
			until(t, "load", func() bool { return len(known()) > 500 })
			before := known()
			backUp(t, d, from, to)
			n := len(known())
			until(t, "writing that goes on", func() bool { return len(known()) > n })
			stop()

			info, err := os.Stat(to)
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			if list, err := os.ReadDir(folder); err != nil || len(list) != 1 {
				t.Errorf("other files beside the copy: %v, %v", list, err)
			}
			copied := open(t, to)
			if err := copied.Check(t.Context()); err != nil {
				t.Error(err)
			}
			for _, id := range before {
				if a := accept(t, copied, say(id, "x")); a.Fresh {
					t.Fatalf("%s was acknowledged before the backup, which lacks it", id)
				}
			}
		})
	}
}

func TestABackupOverwritesNothing(t *testing.T) {
	d, dir := fresh(t), t.TempDir()
	path := filepath.Join(dir, "precious")
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.Backup(t.Context(), path); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("Backup = %v", err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "precious" {
		t.Errorf("the file now has %d bytes, %v", len(got), err)
	}
	if err := d.Backup(t.Context(), filepath.Join(dir, "missing", "copy.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("into a missing folder: %v", err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("remaining files: %v, %v", list, err)
	}
}

func TestABackupThatDoesNotFitLeavesNothing(t *testing.T) {
	smalldisk.Run(t, "4m", backupThatDoesNotFit)
}

func backupThatDoesNotFit(t *testing.T, dir string) {
	ballast := filepath.Join(dir, "ballast")
	fillUp(t, ballast)
	info, err := os.Stat(ballast)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(ballast, info.Size()-100_000); err != nil {
		t.Fatal(err)
	}
	d := open(t, populated(t))
	if err := d.Backup(t.Context(), filepath.Join(dir, "copy.db")); !errors.Is(err, engine.ErrFull) {
		t.Errorf("Backup = %v", err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("files beside the ballast: %v, %v", list, err)
	}
}

// A copy of a damaged database might later replace a good one.
func TestADamagedDatabaseIsNotCopied(t *testing.T) {
	path, dir := populated(t), t.TempDir()
	ro, err := db.OpenReadOnly(t.Context(), db.Config{URL: "sqlite://" + path})
	if err != nil {
		t.Fatal(err)
	}
	defer ro.Close() //nolint:errcheck // of a damaged database
	damage(t, path, 3)
	if err := ro.Backup(t.Context(), filepath.Join(dir, "copy.db")); !errors.As(err, new(*sqlite.CorruptError)) {
		t.Errorf("Backup = %v", err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 0 {
		t.Errorf("left behind: %v, %v", list, err)
	}
}
