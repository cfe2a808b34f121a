package db_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
)

func project(t testing.TB, d *db.DB, key chat.Key) string {
	t.Helper()
	c, err := d.Chats().Get(t.Context(), key)
	if err != nil {
		t.Error(err)
	}
	return c.Settings.Project
}

func inProject(path string) func(*db.Settings) {
	return func(s *db.Settings) { s.Project = path }
}

func setProject(path string) job {
	return func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE chats SET settings = json_object('project', ?1)`, path)
		return err
	}
}

func TestACachedChatIsReadAgainWhenItChanges(t *testing.T) {
	dbtest.OfSQLite(t)
	path := dbtest.Create(t)
	d := open(t, path)
	accept(t, d, say("om_1", "hi"))
	if got := project(t, d, oc); got != "" {
		t.Fatalf("project %q", got)
	}
	raw := dbtest.Side(t, path) // bypasses the cache
	if _, err := raw.Exec(`UPDATE chats SET settings = '{"project":"/behind"}'`); err != nil {
		t.Fatal(err)
	}
	if got := project(t, d, oc); got != "" {
		t.Errorf("the chat was not cached: project %q", got)
	}
	// Every write invalidates the cache, by whatever method, but only once it is committed.
	if err := d.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		if err := setProject("/x")(ctx, tx); err != nil {
			return err
		}
		if got := project(t, d, oc); got != "/behind" {
			t.Errorf("before the commit: project %q", got)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if got := project(t, d, oc); got != "/x" {
		t.Errorf("after the commit: project %q", got)
	}
	undone := errors.New("undone")
	if err := d.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		return errors.Join(setProject("/y")(ctx, tx), undone)
	}); !errors.Is(err, undone) {
		t.Fatal(err)
	}
	if got := project(t, d, oc); got != "/x" {
		t.Errorf("after a rollback: project %q", got)
	}
}

// A read after a write has returned sees that write or a later one.
func TestCachedChatsAreNeverStale(t *testing.T) {
	d := fresh(t)
	const chats, writes = 6, 150
	d.HotChats(chats - 2) // some are evicted all the time
	var written [chats]atomic.Int64
	keys := make([]chat.Key, chats)
	for i := range keys {
		keys[i] = chat.FeishuChat(fmt.Sprintf("oc_%d", i))
		e := say("om_1", "hi")
		e.Key = keys[i]
		accept(t, d, e)
		if err := d.Chats().Set(t.Context(), keys[i], inProject("0")); err != nil {
			t.Fatal(err)
		}
	}
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	for i, key := range keys {
		writers.Go(func() {
			for n := int64(1); n <= writes; n++ {
				if err := d.Chats().Set(t.Context(), key, inProject(strconv.FormatInt(n, 10))); err != nil {
					t.Error(err)
					return
				}
				written[i].Store(n)
			}
		})
	}
	for r := range 12 {
		readers.Go(func() {
			for n := r; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				i := n % chats
				least := written[i].Load()
				got, err := strconv.ParseInt(project(t, d, keys[i]), 10, 64)
				if err != nil || got < least {
					t.Errorf("chat %d: read %d, %v, after %d was written", i, got, err, least)
					return
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	for _, key := range keys {
		if got := project(t, d, key); got != strconv.Itoa(writes) {
			t.Errorf("at last %v has project %s", key, got)
		}
	}
}

func TestCachedChatsAreLimited(t *testing.T) {
	dbtest.OfSQLite(t)
	d := fresh(t)
	d.HotChats(10)
	for i := range 50 {
		e := say("om_1", "hi")
		e.Key = chat.FeishuChat(fmt.Sprintf("oc_%d", i))
		accept(t, d, e)
		project(t, d, e.Key)
	}
	if chats, rows := d.CountHot(); chats != 10 || rows != 10 {
		t.Errorf("%d chats are cached, and the rows of %d", chats, rows)
	}
}

// BenchmarkChat measures the look-up of a cached chat, and of one that is not cached.
func BenchmarkChat(b *testing.B) {
	d := fresh(b)
	accept(b, d, say("om_1", "hi"))
	look := func(b *testing.B) {
		if _, err := d.Chats().Get(b.Context(), oc); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("hot", func(b *testing.B) {
		for b.Loop() {
			look(b)
		}
	})
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			d.HotChats(1)
			look(b)
		}
	})
}
