package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/db/sqlite"
	"magpie/internal/chat"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

const page = 4096 // bytes

// populated makes a closed database of about 100 pages.
func populated(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "magpie.db")
	if err := os.WriteFile(path, sound(t), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var populatedFile []byte // created once for all tests

func sound(t *testing.T) []byte {
	t.Helper()
	if populatedFile != nil {
		return populatedFile
	}
	path := dbtest.Create(t)
	d := open(t, path)
	for i := range 400 {
		accept(t, d, say(fmt.Sprintf("om_%d", i), strings.Repeat("text ", 100)))
		if i%10 == 0 {
			finish(t, d, db.TurnResult{Turn: claim(t, d, "s").Turn, Answer: "answer", Session: db.Session{ID: "s"},
				Usage: &db.Usage{}})
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	populatedFile = file
	return file
}

// damage overwrites 20 pages. The file stays open until the end of the test: closing it would drop SQLite's locks.
func damage(t *testing.T, path string, seed uint64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	info, err := f.Stat()
	if err != nil || info.Size() < 60*page {
		t.Fatalf("the database has %d pages, too few to damage 20: %v", info.Size()/page, err)
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	junk := make([]byte, page)
	for _, n := range rng.Perm(int(info.Size() / page))[:20] {
		for i := range junk {
			junk[i] = byte(rng.Uint32())
		}
		if _, err := f.WriteAt(junk, int64(n)*page); err != nil {
			t.Fatal(err)
		}
	}
}

func TestADamagedDatabaseIsRefused(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			path := populated(t)
			damage(t, path, seed)
			d, err := db.Open(t.Context(), db.Config{URL: "sqlite://" + path})
			var corrupt *sqlite.CorruptError
			if !errors.As(err, &corrupt) {
				t.Fatalf("it opens: %v, %v", d, err)
			}
			if corrupt.Path != path || !strings.Contains(err.Error(), path) ||
				!strings.Contains(err.Error(), "magpie backup") {
				t.Errorf("the error does not say what to do: %v", err)
			}
			ro, err := db.OpenReadOnly(t.Context(), db.Config{URL: "sqlite://" + path})
			if err == nil {
				err = errors.Join(ro.Check(t.Context()), ro.Close())
			}
			if !errors.As(err, &corrupt) {
				t.Errorf("a check finds no damage: %v", err)
			}
			if err := os.Rename(path, path+".damaged"); err != nil {
				t.Fatal(err)
			}
			if err := dbtest.Write(path); err != nil {
				t.Fatal(err)
			}
			accept(t, open(t, path), say("om_1", "the refused one holds no lock"))
		})
	}
}

// Reading a large database at every start would delay people's messages.
func TestALargeDatabaseIsCheckedWhenItWasNotClosed(t *testing.T) {
	path := populated(t)
	d, err := db.OpenReadOnly(t.Context(), db.Config{URL: "sqlite://" + path})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close() //nolint:errcheck // of a damaged database
	damage(t, path, 3)
	for _, c := range []struct {
		closed  bool
		small   int64
		corrupt bool
	}{{true, 0, false}, {false, 0, true}, {true, 1 << 40, true}} {
		if err := fileOf(d).QuickCheck(t.Context(), c.closed, c.small); errors.As(err, new(*sqlite.CorruptError)) != c.corrupt {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestOtherFilesAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "magpie.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("This is a letter to my aunt. ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := db.Open(t.Context(), db.Config{URL: "sqlite://" + path})
	if !errors.As(err, new(*sqlite.CorruptError)) {
		t.Fatalf("Open = %v", err)
	}
	zh, en := i18n.ErrorText(i18n.Chinese, err), err.Error()
	if !strings.HasPrefix(zh, "数据库 "+path+" 已损坏：这个文件不是 SQLite 数据库。停止鹊桥，移走 ") ||
		!strings.Contains(zh, "把 magpie backup 生成的最新备份复制为 "+path+"，再启动鹊桥") {
		t.Errorf("%s", zh)
	}
	if !strings.HasPrefix(en, "database "+path+" is corrupt: the file is not an SQLite database. Stop Magpie,") {
		t.Errorf("%s", en)
	}
}

// Damage that occurs while the program runs must not stop it: every call returns, and the health check reports it.
func TestDamageWhileTheDatabaseIsOpen(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			path := populated(t)
			d, err := db.Open(t.Context(), db.Config{URL: "sqlite://" + path})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close() //nolint:errcheck // of a damaged database
			damage(t, path, seed)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err = d.Messages().Accept(ctx, say("om_new", "x"))
			errs := []error{err}
			c, err := d.Turns().Claim(ctx, oc, startIn("s"))
			errs = append(errs, err, d.Turns().Finish(ctx,
				db.TurnResult{Turn: c.Turn, State: convo.Done, Answer: "a", Usage: &db.Usage{}}))
			for _, err := range d.Messages().Range(ctx, oc, 0, 0, 1<<40) {
				errs = append(errs, err)
			}
			_, err = d.Messages().Unseen(ctx, oc, 0, 1, 1<<40)
			errs = append(errs, err)
			_, err = d.Turns().Queued(ctx)
			errs = append(errs, err)
			_, err = d.Turns().Running(ctx)
			errs = append(errs, err)
			_, err = d.Outbox().Next(ctx, oc)
			errs = append(errs, err, d.Turns().SetDraft(ctx, c.Turn.ID, "x"))
			_, err = d.Chats().Get(ctx, chat.FeishuChat("oc_none"))
			errs = append(errs, err, d.Backup(ctx, filepath.Join(t.TempDir(), "copy.db")), d.CheckHealth(ctx))
			if err := errors.Join(errs...); err == nil {
				t.Error("no call has read any of the 20 damaged pages")
			}
			if ctx.Err() != nil {
				t.Error("the calls took more than a minute")
			}
			if err := d.Check(t.Context()); !errors.As(err, new(*sqlite.CorruptError)) {
				t.Errorf("Check = %v", err)
			}
		})
	}
}
