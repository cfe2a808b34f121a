package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"magpie/db"
	"magpie/db/engine"
	"magpie/internal/i18n"
	"magpie/internal/smalldisk"
)

func healthyWithin(t testing.TB, d *db.DB, limit time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	return d.CheckHealth(ctx)
}

// acceptUntilFull stores messages until one is refused, and returns how many are stored.
func acceptUntilFull(t *testing.T, d *db.DB) (stored int, refused db.Inbound) {
	t.Helper()
	for i := 1; i < 5000; i++ {
		e := say(fmt.Sprintf("om_%d", i), strings.Repeat("x", 2000))
		if _, err := d.Messages().Accept(t.Context(), e); errors.Is(err, engine.ErrFull) {
			if zh := i18n.ErrorText(i18n.Chinese, err); strings.Contains(zh, "disk is full") {
				t.Errorf("in Chinese: %s", zh)
			}
			return i, e
		} else if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the disk never became full")
	return 0, db.Inbound{}
}

// whole fails the test unless exactly the messages before the refused one can be read.
func whole(t *testing.T, d *db.DB, stored int) {
	t.Helper()
	n := 0
	for m, err := range d.Messages().Range(t.Context(), oc, 0, 0, 1<<40) {
		if err != nil {
			t.Fatalf("reading while the disk is full: %v", err)
		}
		if n++; m.ID != fmt.Sprintf("om_%d", stored-n) {
			t.Fatalf("message %d from the end is %s", n, m.ID)
		}
	}
	if n != stored {
		t.Errorf("%d messages are stored, %d were acknowledged", n, stored)
	}
}

func TestAFullDiskRefusesMessagesAndRecovers(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_0", "x"))
	fileOf(d).LimitPages(t, 40)
	stored, refused := acceptUntilFull(t, d)
	whole(t, d, stored)

	// Many at once: each caller gets the outcome of its message.
	var wg sync.WaitGroup
	var mu sync.Mutex
	outcomes := map[string]error{}
	for i := range 32 {
		wg.Go(func() {
			e := say(fmt.Sprintf("om_many_%d", i), strings.Repeat("x", 100*i))
			_, err := d.Messages().Accept(t.Context(), e)
			if err != nil && !errors.Is(err, engine.ErrFull) {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			outcomes[e.ID] = err
		})
	}
	wg.Wait()
	fileOf(d).LimitPages(t, 1000)
	for id, err := range outcomes {
		if a := accept(t, d, say(id, "again")); a.Fresh != (err != nil) {
			t.Errorf("%s returned %v, but its second delivery is new: %t", id, err, a.Fresh)
		}
	}
	if a := accept(t, d, refused); !a.Fresh || a.Turn == 0 {
		t.Errorf("the refused message, delivered again: %+v", a)
	}
	if err := d.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestARealDiskIsFull(t *testing.T) { smalldisk.Run(t, "4m", realDiskIsFull) }

func realDiskIsFull(t *testing.T, dir string) {
	path := filepath.Join(dir, "magpie.db")
	d := open(t, path)
	accept(t, d, say("om_0", "x"))
	if err := d.CheckHealth(t.Context()); err != nil {
		t.Fatal(err)
	}
	claim(t, d, "s")
	ballast := filepath.Join(dir, "ballast")
	fillUp(t, ballast)

	stored, refused := acceptUntilFull(t, d)
	if err := healthyWithin(t, d, time.Minute); !errors.Is(err, engine.ErrFull) {
		t.Errorf("health of a full disk: %v", err)
	}
	whole(t, d, stored)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	fillUp(t, ballast) // closing may have freed some space
	if early, err := db.Open(t.Context(), db.Config{URL: "sqlite://" + path}); err == nil {
		if err := early.CheckHealth(t.Context()); !errors.Is(err, engine.ErrFull) {
			t.Errorf("health after a start on a full disk: %v", err)
		}
		if err := early.Close(); err != nil {
			t.Error(err)
		}
	} else if !errors.Is(err, engine.ErrFull) {
		t.Errorf("start on a full disk: %v", err)
	}
	info, err := os.Stat(ballast)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(ballast, info.Size()-500_000); err != nil {
		t.Fatal(err)
	}
	d = open(t, path)
	if err := d.CheckHealth(t.Context()); !errors.Is(err, engine.ErrFull) {
		t.Errorf("health with 500 KB left: %v", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := d.CheckHealth(t.Context()); err != nil {
		t.Errorf("health after space was freed: %v", err)
	}
	if a := accept(t, d, refused); !a.Fresh || a.Turn == 0 {
		t.Errorf("the refused message, delivered again: %+v", a)
	}
	if err := d.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// A first start on a full disk leaves nothing that looks like a database, and the next one begins anew.
func TestAFirstStartOnAFullDiskLeavesNoDatabase(t *testing.T) {
	smalldisk.Run(t, "4m", func(t *testing.T, dir string) {
		path, ballast := filepath.Join(dir, "magpie.db"), filepath.Join(dir, "ballast")
		fillUp(t, ballast)
		if d, err := db.Open(t.Context(), db.Config{URL: "sqlite://" + path}); !errors.Is(err, engine.ErrFull) {
			t.Errorf("start on a full disk: %v, %v", d, err)
		}
		left, err := filepath.Glob(path + "*")
		if err != nil {
			t.Fatal(err)
		}
		if len(left) != 0 {
			t.Errorf("it leaves %v", left)
		}
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		accept(t, open(t, path), say("om_0", "x"))
	})
}

// fillUp appends to a file until its disk is full.
func fillUp(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(f, zeros{}); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// zeros is an endless reader.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
