package workqueue

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// However many chats have work, only a limited number is served at a time, and none twice before the others had their
// turn.
func TestChatsWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most, chats, rounds = 3, 9, 4
		j := New(most)
		var (
			mu            sync.Mutex
			active, peak  int
			served        []int
			visit         func(chat, left int) func(context.Context)
			stop, stopped = make(chan struct{}), make(chan struct{})
		)
		visit = func(chat, left int) func(context.Context) {
			return func(context.Context) {
				mu.Lock()
				active++
				peak = max(peak, active)
				served = append(served, chat)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				active--
				mu.Unlock()
				if left > 1 {
					j.Enqueue(visit(chat, left-1))
				}
			}
		}
		for i := range chats {
			j.Enqueue(visit(i, rounds))
		}
		go func() { defer close(stopped); j.Run(t.Context(), stop) }()
		time.Sleep(500 * time.Millisecond)
		if waiting, _ := j.Count(); waiting == 0 {
			t.Error("nobody waits")
		}
		close(stop)
		<-stopped
		if waiting, _ := j.Count(); waiting > 0 || peak != most || len(served) != chats*rounds {
			t.Errorf("%d at a time, %d served", peak, len(served))
		}
		for round := range rounds {
			seen := slices.Sorted(slices.Values(served[round*chats : (round+1)*chats]))
			if len(slices.Compact(seen)) != chats {
				t.Errorf("round %d served %v", round, seen)
			}
		}
	})
}

// A reserved slot counts, and is not given to another chat.
func TestASlotCanBeReserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, stop := New(2), make(chan struct{})
		go j.Run(t.Context(), stop)
		for n, want := range []bool{true, true, false} {
			if got := j.Reserve(); got != want {
				t.Fatalf("place %d: %v", n+1, got)
			}
		}
		var done []string
		job := func(name string) func(context.Context) { return func(context.Context) { done = append(done, name) } }
		j.Enqueue(job("waits"))
		synctest.Wait()
		if waiting, active := j.Count(); len(done) > 0 || waiting != 1 || active != 2 || j.Reserve() {
			t.Errorf("%v done, %d wait, %d active", done, waiting, active)
		}
		j.Fill(job("has a place"))
		synctest.Wait()
		if want := []string{"has a place", "waits"}; !slices.Equal(done, want) {
			t.Errorf("%v done, want %v", done, want)
		}
		close(stop)
		j.Release()
		synctest.Wait()
		if waiting, active := j.Count(); waiting+active != 0 {
			t.Errorf("%d wait, %d active", waiting, active)
		}
	})
}
