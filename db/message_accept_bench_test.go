package db_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"magpie/db"
	"magpie/internal/chat"
)

// fill adds n messages to 1000 chats, each with a turn that answered it, in one transaction.
func fill(b testing.TB, d *db.DB, n int) {
	b.Helper()
	if err := d.Tx(b.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO chats (no, key, kind, next_seq)
			WITH RECURSIVE i (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM i WHERE n < 999)
			SELECT n + 1, 'feishu:chat:oc_' || n, 'p2p', ?1 FROM i`, n)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO turns (chat_key, epoch, state, created_at)
			WITH RECURSIVE i (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM i WHERE n < ?1 - 1)
			SELECT 'feishu:chat:oc_' || (n * 1000 / ?1), 0, 'done', n FROM i`, n)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO messages (chat_key, seq, epoch, turn_id, message_id, role, class, content, sent_at)
			WITH RECURSIVE i (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM i WHERE n < ?1 - 1)
			SELECT 'feishu:chat:oc_' || (n * 1000 / ?1), n % (?1 / 1000), 0, n, 'old_' || n, 'user', 'talk', 'how do I stop the build?', n FROM i`, n)
		return err
	}); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkAccept measures how many messages can be stored per second, one at a time and many concurrently, in a small
// and in a large database. An operation is [acceptedAtOnce] messages.
func BenchmarkAccept(b *testing.B) {
	sizes := []int{1e3, 1e4, 1e5, 1e6}
	if testing.Short() {
		sizes = sizes[:2]
	}
	rates := map[int]float64{} // with 64 writers, by size
	for _, stored := range sizes {
		b.Run(fmt.Sprintf("stored=%d", stored), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "magpie.db")
			d := open(b, path)
			fill(b, d, stored)
			if err := d.Close(); err != nil { // the filling does not belong to the measured writes
				b.Fatal(err)
			}
			d = open(b, path)
			for _, writers := range []int{1, 8, 64} {
				b.Run(fmt.Sprintf("writers=%d", writers),
					func(b *testing.B) { rates[stored] = benchmarkAccept(b, d, writers, sameQuestion) })
			}
		})
	}
	if few, many := rates[sizes[0]], rates[sizes[len(sizes)-1]]; !testing.Short() && many > 0 && many < few/5 {
		b.Errorf("%.0f messages a second with %d stored, %.0f with %d", few, sizes[0], many, sizes[len(sizes)-1])
	}
}

func sameQuestion(int64) string { return "how do I stop the build?" }

var accepts atomic.Int64 // the number of the next message

func benchmarkAccept(b *testing.B, d *db.DB, writers int, text func(n int64) string) (rate float64) {
	for b.Loop() {
		acceptMany(b, d, writers, acceptedAtOnce, text)
	}
	rate = float64(b.N*acceptedAtOnce) / b.Elapsed().Seconds()
	b.ReportMetric(rate, "accepts/s")
	return rate
}

// acceptedAtOnce is how many messages an operation of the benchmarks stores.
const acceptedAtOnce = 500

// acceptMany stores messages concurrently with that many writers.
func acceptMany(b testing.TB, d *db.DB, writers, messages int, text func(n int64) string) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(messages))
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				n := accepts.Add(1)
				e := say(fmt.Sprintf("om_%d", n), text(n))
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
