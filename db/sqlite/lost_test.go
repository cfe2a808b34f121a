package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/db/sqlite"
	"magpie/internal/i18n"
)

// guarded is a database with some messages that is being watched.
type guarded struct {
	*testing.T
	d      *db.DB
	path   string
	mu     sync.Mutex
	news   []error
	cancel func()
}

const guardedMessages = 20

func newGuarded(t *testing.T, dir string) *guarded {
	t.Helper()
	g := &guarded{T: t, path: filepath.Join(dir, "data", "magpie.db")}
	g.must(dbtest.Write(g.path))
	for i := range guardedMessages {
		if i == 0 || i == guardedMessages/2 { // only part of the database is in the log, as usual
			if g.d != nil {
				g.must(g.d.Close())
			}
			d, err := db.Open(t.Context(), db.Config{URL: "sqlite://" + g.path})
			g.must(err)
			g.d = d
		}
		accept(t, g.d, say(fmt.Sprintf("om_%d", i), "words"))
	}
	return g
}

// guard watches the database until cancel is called.
func (g *guarded) guard() *guarded {
	ctx, cancel := context.WithCancel(g.Context())
	done := make(chan struct{})
	go func() { defer close(done); g.d.Guard(ctx, g.tell) }()
	g.cancel = sync.OnceFunc(func() { cancel(); <-done })
	g.Cleanup(g.cancel)
	return g
}

func (g *guarded) must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

func (g *guarded) tell(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.news = append(g.news, err)
}

func (g *guarded) reports() []error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]error(nil), g.news...)
}

// refused checks that messages are refused, and returns the error.
func (g *guarded) refused() *sqlite.LostError {
	g.Helper()
	var lost *sqlite.LostError
	for range 2 {
		if _, err := g.d.Messages().Accept(g.Context(), say("om_late", "words")); !errors.As(err, &lost) {
			g.Fatalf("a message was accepted: %v", err)
		}
		if err := g.d.CheckHealth(g.Context()); !errors.As(err, &lost) {
			g.Fatalf("the database counts as healthy: %v", err)
		}
	}
	if zh := i18n.ErrorText(i18n.Chinese, lost); !strings.HasPrefix(zh, "数据库 "+g.path+" 丢失：鹊桥正在使用时，"+g.path) ||
		strings.Contains(zh, "Nothing is stored") {
		g.Errorf("in Chinese: %s", zh)
	}
	return lost
}

// saved waits for the report that the database was saved.
func (g *guarded) saved() *sqlite.LostError {
	g.Helper()
	for range 100 {
		var lost *sqlite.LostError
		if news := g.reports(); len(news) > 0 && errors.As(news[len(news)-1], &lost) && lost.Rescued != "" {
			if zh := i18n.ErrorText(i18n.Chinese, lost); !strings.Contains(zh, "原来的内容保存在 "+lost.Rescued+"。") {
				g.Errorf("in Chinese: %s", zh)
			}
			return lost
		}
		time.Sleep(time.Second) // on the bubble's clock
	}
	g.Fatalf("it was not saved: %v", g.reports())
	return nil
}

func messagesIn(t *testing.T, path string) (n int) {
	t.Helper()
	d, err := db.OpenReadOnly(t.Context(), db.Config{URL: "sqlite://" + path})
	if err != nil {
		t.Fatal(err)
	}
	for range d.Messages().Range(t.Context(), oc, 0, 0, 1<<40) {
		n++
	}
	if err := errors.Join(d.Check(t.Context()), d.Close()); err != nil {
		t.Fatal(err)
	}
	return n
}

// Whatever happens to the files, nothing more is acknowledged, and all acknowledged messages are in a copy beside them.
func TestALostDatabaseIsSaved(t *testing.T) {
	replace := func(path string) error {
		return errors.Join(os.WriteFile(path+".new", []byte("something else"), 0o600), os.Rename(path+".new", path))
	}
	for name, tt := range map[string]struct {
		harm  func(path string) error
		word  string
		gone  bool // the next start would find no database
		above bool // the copy is in the parent folder
	}{
		"deleted":  {os.Remove, "deleted", true, false},
		"renamed":  {func(p string) error { return os.Rename(p, p+".old") }, "moved", true, false},
		"replaced": {replace, "replaced", false, false},
		"made empty": {func(p string) error { return errors.Join(os.Remove(p), os.WriteFile(p, nil, 0o600)) },
			"replaced", true, false},
		"log deleted":    {func(p string) error { return os.Remove(p + "-wal") }, "-wal was deleted", false, false},
		"log replaced":   {func(p string) error { return replace(p + "-wal") }, "-wal was replaced", false, false},
		"index deleted":  {func(p string) error { return os.Remove(p + "-shm") }, "-shm was deleted", false, false},
		"folder removed": {func(p string) error { return os.RemoveAll(filepath.Dir(p)) }, "deleted", true, true},
		"folder renamed": {func(p string) error { return os.Rename(filepath.Dir(p), filepath.Dir(p)+".old") }, "moved",
			true, true},
		"folder replaced": {func(p string) error {
			return errors.Join(os.RemoveAll(filepath.Dir(p)), os.Mkdir(filepath.Dir(p), 0o700))
		}, "deleted", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				g := newGuarded(t, dir).guard()
				synctest.Wait() // so that no check is under way
				g.must(tt.harm(g.path))
				if lost := g.refused(); !strings.Contains(lost.Error(), tt.word) {
					t.Errorf("the error does not say what happened: %v", lost)
				}
				lost := g.saved()
				folder := filepath.Dir(g.path)
				if tt.above {
					folder = filepath.Dir(folder)
				}
				if filepath.Dir(lost.Rescued) != folder || !strings.Contains(lost.Error(), "move "+lost.Rescued+" to "+g.path) {
					t.Errorf("saved in %s: %v", lost.Rescued, lost)
				}
				if info, err := os.Stat(lost.Rescued); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("the copy is %v, %v", info, err)
				}
				if n := messagesIn(t, lost.Rescued); n != guardedMessages {
					t.Errorf("%d messages are saved, %d were acknowledged", n, guardedMessages)
				}
				time.Sleep(time.Hour)
				g.refused()
				if news := g.reports(); len(news) != 2 {
					t.Errorf("told %v", news)
				}
				g.cancel()
				logs := g.logs()
				g.must(g.d.Close())
				if !tt.gone {
					return
				}
				if left, _ := filepath.Glob(g.path + "-wal"); len(left) > 0 {
					t.Errorf("a log is left for the next file at this path: %v", left)
				}
				g.putBack(logs) // as a killed program leaves them
				g.takesBack(lost.Rescued)
			})
		})
	}
}

// logs are the files beside the database that belong to it, with their content.
func (g *guarded) logs() map[string][]byte {
	g.Helper()
	held := map[string][]byte{}
	for _, name := range []string{g.path + "-wal", g.path + "-shm"} {
		if data, err := os.ReadFile(name); err == nil {
			held[name] = data
		}
	}
	return held
}

func (g *guarded) putBack(logs map[string][]byte) {
	g.Helper()
	for name, data := range logs {
		g.must(os.WriteFile(name, data, 0o600))
	}
}

// takesBack checks that a start does not create an empty database, and continues with the copy once it was put back.
func (g *guarded) takesBack(copied string) {
	g.Helper()
	c := db.Config{URL: "sqlite://" + g.path}
	if d, err := db.Open(g.Context(), c); err == nil || !strings.Contains(err.Error(), "move "+copied+" to "+g.path) {
		g.Fatalf("an empty database was created: %v, %v", d, err)
	}
	g.must(errors.Join(os.MkdirAll(filepath.Dir(g.path), 0o700), os.Rename(copied, g.path)))
	d, err := db.Open(g.Context(), c)
	g.must(err)
	if a := accept(g.T, d, say("om_late", "words")); !a.Fresh {
		g.Error("the message that was not acknowledged is stored")
	}
	if a := accept(g.T, d, say("om_1", "words")); a.Fresh {
		g.Error("an acknowledged message was stored twice")
	}
	g.must(d.Close())
}

// Files that are restored are used again. When they are lost again, they are saved again.
func TestALostDatabaseThatComesBack(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded(t, dir).guard()
		data := filepath.Dir(g.path)
		synctest.Wait() // so that no check is under way, which would see the half of what happens
		g.must(os.Rename(data, data+".old"))
		first := g.saved()
		synctest.Wait()
		g.must(os.Rename(data+".old", data))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if news := g.reports(); len(news) != 3 || news[2] != nil {
			t.Fatalf("told %v", news)
		}
		accept(t, g.d, say("om_late", "words"))
		g.must(g.d.CheckHealth(t.Context()))
		g.must(os.Remove(g.path))
		time.Sleep(2 * time.Second)
		if second := g.saved(); second.Rescued == first.Rescued || messagesIn(t, second.Rescued) != guardedMessages+1 {
			t.Errorf("saved %v, then %v", first, second)
		}
		g.cancel()
		g.must(g.d.Close())
	})
}

// If the copy cannot be written, that is retried, at the latest when the program ends, and nothing is overwritten.
func TestALostDatabaseThatCannotBeSavedAtOnce(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded(t, dir).guard()
		synctest.Wait()
		g.must(os.Remove(g.path))
		var inTheWay []string
		for i := range 40 { // for each retry within the next seconds
			p := g.path + ".rescued-" + time.Now().Add(time.Duration(i)*time.Second).UTC().Format("20060102-150405")
			g.must(os.WriteFile(p, []byte("mine"), 0o600))
			inTheWay = append(inTheWay, p)
		}
		time.Sleep(10 * time.Second)
		news := g.reports()
		if len(news) != 2 || !strings.Contains(news[1].Error(), "Do not stop Magpie") {
			t.Fatalf("told %v", news)
		}
		g.refused()
		time.Sleep(time.Minute)
		if n := messagesIn(t, g.saved().Rescued); n != guardedMessages {
			t.Errorf("%d messages are saved", n)
		}
		for _, p := range inTheWay {
			if data, err := os.ReadFile(p); err != nil || string(data) != "mine" {
				t.Errorf("%s became %q, %v", p, data, err)
			}
		}
		g.cancel()
		g.must(g.d.Close())
	})
}

// A program that is being stopped at this moment saves first.
func TestADatabaseThatIsLostAtTheEnd(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded(t, dir).guard()
		synctest.Wait()
		g.must(os.Remove(g.path))
		g.cancel()
		if n := messagesIn(t, g.saved().Rescued); n != guardedMessages {
			t.Errorf("%d messages are saved", n)
		}
		g.must(g.d.Close())
	})
}

// A backup that is restored over the open file is not changed. (The connections stay open, as in a process that ends.)
func TestADatabaseThatIsOverwritten(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, t.TempDir())
	backup := filepath.Join(t.TempDir(), "backup")
	g.must(g.d.Backup(t.Context(), backup))
	old, err := os.ReadFile(backup)
	g.must(err)
	var talk sync.WaitGroup
	for i := range 8 {
		talk.Go(func() {
			for j := range 100 { // enough for SQLite to copy its log into the file
				accept(t, g.d, say(fmt.Sprintf("om_more_%d_%d", i, j), strings.Repeat(".", 6000)))
			}
		})
	}
	talk.Wait()
	f, err := os.OpenFile(g.path, os.O_WRONLY|os.O_TRUNC, 0) // as cp does
	g.must(err)
	_, err = f.Write(old)
	g.must(err)
	lost := g.refused()
	if !lost.Overwritten || !strings.Contains(lost.Error(), "overwritten") ||
		!strings.Contains(lost.Error(), "magpie backup") {
		t.Errorf("%v", lost)
	}
	g.guard().cancel()
	if news := g.reports(); len(news) != 1 {
		t.Errorf("told %v", news)
	}
	g.must(errors.Join(g.d.Close(), f.Close()))
	if now, err := os.ReadFile(g.path); err != nil || !bytes.Equal(now, old) {
		t.Errorf("the restored backup was changed: %d bytes, %v", len(now), err)
	}
	if logs, err := filepath.Glob(g.path + "-wal*"); err != nil || len(logs) != 1 ||
		!strings.Contains(logs[0], "-wal.lost-") {
		t.Errorf("logs %v, %v", logs, err)
	}
}
