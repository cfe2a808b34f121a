package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"magpie/db"
	"magpie/internal/chat"
)

// until polls a condition: what the writer does is not visible as an event.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %s", what)
		}
	}
}

// hold blocks the writer until release is called, so that jobs that arrive meanwhile form one group.
func hold(t testing.TB, d *db.DB) (release func()) {
	t.Helper()
	began, end, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- fileOf(d).Tx(context.Background(), func(context.Context, *sql.Tx) error {
			close(began)
			<-end
			return nil
		})
	}()
	<-began
	return func() {
		close(end)
		if err := <-done; err != nil {
			t.Errorf("the transaction that held the writer: %v", err)
		}
	}
}

type job = func(ctx context.Context, tx *sql.Tx) error

// enqueue starts a transaction and waits until it is queued behind the one that blocks the writer.
func enqueue(ctx context.Context, t testing.TB, d *db.DB, f job) <-chan error {
	t.Helper()
	n, done := fileOf(d).Waiting(), make(chan error, 1)
	go func() {
		defer func() {
			if v := recover(); v != nil {
				done <- fmt.Errorf("panic: %v", v)
			}
		}()
		done <- fileOf(d).Tx(ctx, f)
	}()
	until(t, "transaction in the queue", func() bool { return fileOf(d).Waiting() > n })
	return done
}

func addChat(id string) job {
	return func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO chats (no, key, kind)
			SELECT COALESCE(MAX(no), 0) + 1, ?1, 'p2p' FROM chats`, chat.FeishuChat(id).String())
		return err
	}
}

func has(t testing.TB, d *db.DB, id string) bool {
	t.Helper()
	_, err := d.Chats().Get(t.Context(), chat.FeishuChat(id))
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		t.Error(err)
	}
	return err == nil
}

func TestWaitingWritesCommitTogetherAndFailAlone(t *testing.T) {
	d := fresh(t)
	sentinel := errors.New("sentinel")
	release := hold(t, d)
	first := enqueue(t.Context(), t, d, addChat("a"))
	refused := enqueue(t.Context(), t, d, func(ctx context.Context, tx *sql.Tx) error {
		return errors.Join(addChat("b")(ctx, tx), sentinel)
	})
	panics := enqueue(t.Context(), t, d, func(ctx context.Context, tx *sql.Tx) error {
		_ = addChat("c")(ctx, tx)
		if rows, err := tx.QueryContext(ctx, `SELECT key FROM chats`); err == nil && rows.Next() { // stays open
			panic("boom")
		}
		return nil
	})
	wrong := enqueue(t.Context(), t, d, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `NONSENSE`)
		return err
	})
	last := enqueue(t.Context(), t, d, func(ctx context.Context, tx *sql.Tx) error {
		var n int
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM chats`).Scan(&n); err != nil || n != 1 {
			t.Errorf("within the group there are %d chats, %v", n, err)
		}
		if has(t, d, "a") {
			t.Error("the first of the group was committed alone")
		}
		return addChat("d")(ctx, tx)
	})
	release()
	if err := errors.Join(<-first, <-last); err != nil {
		t.Errorf("the valid ones: %v", err)
	}
	if err := <-refused; !errors.Is(err, sentinel) {
		t.Errorf("the one that fails: %v", err)
	}
	if err := <-panics; err == nil || !strings.Contains(err.Error(), "boom") ||
		!strings.Contains(err.Error(), "writer_test.go") {
		t.Errorf("the one that panics: %v", err)
	}
	if err := <-wrong; err == nil {
		t.Error("an invalid statement succeeded")
	}
	for id, want := range map[string]bool{"a": true, "b": false, "c": false, "d": true} {
		if got := has(t, d, id); got != want {
			t.Errorf("chat %s is stored: %t", id, got)
		}
	}
}

func TestAFailedCommitIsTheErrorOfTheWholeGroup(t *testing.T) {
	for name, bad := range map[string]job{
		"commit refused": func(ctx context.Context, tx *sql.Tx) error { // a dangling reference, detected at the commit
			_, err := tx.ExecContext(ctx, `PRAGMA defer_foreign_keys = 1;
				INSERT INTO turns (chat_key, epoch, state, created_at)
				VALUES ('nobody', 0, 'done', 0)`)
			return err
		},
		"transaction lost": func(ctx context.Context, tx *sql.Tx) error { // as SQLite does when the disk is full
			_, err := tx.ExecContext(ctx, `ROLLBACK`)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := fresh(t)
			release := hold(t, d)
			before := enqueue(t.Context(), t, d, addChat("a"))
			cause := enqueue(t.Context(), t, d, bad)
			after := enqueue(t.Context(), t, d, addChat("b"))
			release()
			for _, c := range []<-chan error{before, cause, after} {
				if err := <-c; err == nil {
					t.Error("one of the group reported success")
				}
			}
			if has(t, d, "a") || has(t, d, "b") {
				t.Error("half of the group is stored")
			}
			accept(t, d, say("om_1", "the writer goes on"))
		})
	}
}

func TestWaitingForTheWriterEndsWithTheContext(t *testing.T) {
	d := fresh(t)
	release := hold(t, d)
	ctx, cancel := context.WithCancel(t.Context())
	waits := enqueue(ctx, t, d, addChat("a"))
	cancel()
	if err := <-waits; !errors.Is(err, context.Canceled) {
		t.Errorf("who waits: %v", err)
	}
	if err := fileOf(d).Tx(ctx, addChat("a")); !errors.Is(err, context.Canceled) {
		t.Errorf("a transaction after Close: %v", err)
	}
	release()
	accept(t, d, say("om_1", "next"))
	if has(t, d, "a") {
		t.Error("a transaction ran although its caller got an error")
	}

	begun, stop := context.WithCancel(t.Context())
	if err := fileOf(d).Tx(begun, func(ctx context.Context, tx *sql.Tx) error {
		stop()
		return addChat("b")(ctx, tx)
	}); err != nil || !has(t, d, "b") {
		t.Errorf("a running transaction was cancelled: %v", err)
	}
}

// A health check ends within its timeout, whatever a write waits for.
func TestTheProbeEndsWithItsTime(t *testing.T) {
	d := fresh(t)
	release := hold(t, d)
	if err := healthyWithin(t, d, 10*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while nothing can be written: %v", err)
	}
	release()
	if err := d.CheckHealth(t.Context()); err != nil {
		t.Error(err)
	}
}

// No transaction that reported success may be missing, and none that reported failure may be stored.
func TestManyWritersAtOnce(t *testing.T) {
	d := fresh(t)
	refused := errors.New("refused")
	var wg sync.WaitGroup
	for w := range 32 {
		wg.Go(func() {
			for i := range 30 {
				id := fmt.Sprintf("%d_%d", w, i)
				ctx, cancel := context.WithCancel(t.Context())
				if i%5 == 0 {
					time.AfterFunc(time.Duration(w)*20*time.Microsecond, cancel)
				}
				err := fileOf(d).Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
					if err := addChat(id)(ctx, tx); err != nil || i%7 != 0 {
						return err
					}
					return refused
				})
				cancel()
				if err != nil && !errors.Is(err, refused) && !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", id, err)
				}
				if stored := has(t, d, id); stored != (err == nil) {
					t.Errorf("%s: stored %t, but returned %v", id, stored, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestWritesAfterCloseFail(t *testing.T) {
	d := fresh(t)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Messages().Accept(t.Context(), say("om_1", "hi")); err == nil {
		t.Error("accepted")
	}
}

func BenchmarkInPlace(b *testing.B) {
	d := fresh(b)
	for b.Loop() {
		if err := fileOf(d).InPlace(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAcceptInPlace measures the check before each commit that the database files are in place.
func BenchmarkAcceptInPlace(b *testing.B) {
	checked, unchecked := fresh(b), fresh(b)
	fileOf(unchecked).Unchecked()
	for _, writers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("checked=false/writers=%d", writers), func(b *testing.B) { benchmarkAccept(b, unchecked, writers) })
		b.Run(fmt.Sprintf("checked=true/writers=%d", writers), func(b *testing.B) { benchmarkAccept(b, checked, writers) })
	}
}

var accepts atomic.Int64 // the number of the next message

func benchmarkAccept(b *testing.B, d *db.DB, writers int) (rate float64) {
	for b.Loop() {
		acceptMany(b, d, writers, acceptedAtOnce)
	}
	rate = float64(b.N*acceptedAtOnce) / b.Elapsed().Seconds()
	b.ReportMetric(rate, "accepts/s")
	return rate
}

// acceptedAtOnce is how many messages an operation of the benchmarks stores.
const acceptedAtOnce = 500

// acceptMany stores messages concurrently with that many writers.
func acceptMany(b testing.TB, d *db.DB, writers, messages int) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(messages))
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				n := accepts.Add(1)
				e := say(fmt.Sprintf("om_%d", n), "how do I stop the build?")
				e.Key = chat.FeishuChat(fmt.Sprintf("oc_%d", n%1000))
				if _, err := d.Messages().Accept(b.Context(), e); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}
