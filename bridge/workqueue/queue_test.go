package workqueue

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// However many chats have work, only a limited number are served at the same time, and none twice before the others had their turn.
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
			t.Errorf("at most %d at the same time, %d served", peak, len(served))
		}
		for round := range rounds {
			seen := slices.Sorted(slices.Values(served[round*chats : (round+1)*chats]))
			if len(slices.Compact(seen)) != chats {
				t.Errorf("round %d served %v", round, seen)
			}
		}
	})
}
