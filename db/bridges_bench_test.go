package db_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/convo"
)

// BenchmarkAcceptAndClaim measures how many messages of idle chats can be accepted and claimed per second, by one bridge with
// SQLite, and by several with PostgreSQL. An operation is a message in each of 200 chats of each bridge, which have been there before.
func BenchmarkAcceptAndClaim(b *testing.B) {
	bridges := []int{1}
	if dbtest.OnPostgres() {
		bridges = []int{1, 2, 4}
	}
	for _, n := range bridges {
		for _, writers := range []int{1, 16} {
			b.Run(fmt.Sprintf("bridges=%d/writers=%d", n, writers), func(b *testing.B) {
				path := dbtest.Create(b)
				var list []*db.DB
				for i := range n {
					list = append(list, beside(b, path, fmt.Sprint(i)))
				}
				benchmarkClaims(b, list, writers)
			})
		}
	}
}

// benchmarkClaims has so many writers at each bridge.
func benchmarkClaims(b *testing.B, bridges []*db.DB, writers int) {
	const chats = 200
	var mu sync.Mutex
	var took []time.Duration
	each := func(do func(d *db.DB, in db.Inbound) error) {
		var wg sync.WaitGroup
		for i, d := range bridges {
			for w := range writers {
				wg.Go(func() {
					for n := w; n < chats; n += writers {
						in := say(fmt.Sprintf("om_%d", accepts.Add(1)), "how do I stop the build?")
						in.Key = chat.FeishuChat(fmt.Sprintf("oc_%d_%d", i, n))
						if err := do(d, in); err != nil {
							b.Error(err)
						}
					}
				})
			}
		}
		wg.Wait()
	}
	claims := map[chat.Key]*db.Claim{}
	claim := func(d *db.DB, in db.Inbound) error {
		in.Start = new(startIn(in.ID))
		began := time.Now()
		a, err := d.Messages().Accept(b.Context(), in)
		mu.Lock()
		defer mu.Unlock()
		took, claims[in.Key] = append(took, time.Since(began)), a.Claim
		return err
	}
	finish := func(d *db.DB, in db.Inbound) error {
		mu.Lock()
		c := claims[in.Key]
		mu.Unlock()
		return d.Turns().Finish(b.Context(), db.TurnResult{Turn: c.Turn, State: convo.Done, Answer: "a"})
	}
	each(claim)
	each(finish)
	took = nil
	for b.Loop() {
		each(claim)
		b.StopTimer()
		each(finish)
		b.StartTimer()
	}
	slices.Sort(took)
	b.ReportMetric(float64(len(took))/b.Elapsed().Seconds(), "claims/s")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "median-ms")
}
