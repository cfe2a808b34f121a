package feishu

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestOldestGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sequencer
		leave, err := s.enter(t.Context(), "a", time.UnixMilli(0))
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var got []int64
		for _, ms := range []int64{5, 3, 9, 1, 7} {
			go func() {
				leave, err := s.enter(t.Context(), "a", time.UnixMilli(ms))
				if err != nil {
					t.Error(err)
					return
				}
				defer leave()
				mu.Lock()
				defer mu.Unlock()
				got = append(got, ms)
			}()
		}
		synctest.Wait()
		leave()
		synctest.Wait()
		if !slices.Equal(got, []int64{1, 3, 5, 7, 9}) {
			t.Errorf("order %v", got)
		}
		if len(s.chats) != 0 {
			t.Errorf("%d chats are remembered", len(s.chats))
		}
	})
}

func TestChatsDoNotWaitForEachOther(t *testing.T) {
	var s sequencer
	leave, _ := s.enter(t.Context(), "a", time.UnixMilli(1))
	defer leave()
	other, err := s.enter(t.Context(), "b", time.UnixMilli(0))
	if err != nil {
		t.Fatal(err)
	}
	other()
}

func TestACancelledMessageDoesNotBlockItsChat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sequencer
		leave, _ := s.enter(t.Context(), "a", time.UnixMilli(0))
		ctx, cancel := context.WithCancel(t.Context())
		gaveUp := make(chan error, 1)
		go func() {
			_, err := s.enter(ctx, "a", time.UnixMilli(1))
			gaveUp <- err
		}()
		served := make(chan struct{})
		go func() {
			leave, err := s.enter(t.Context(), "a", time.UnixMilli(2))
			if err == nil {
				leave()
			}
			close(served)
		}()
		synctest.Wait()
		cancel()
		if err := <-gaveUp; err == nil {
			t.Error("no error")
		}
		leave()
		<-served
		if len(s.chats) != 0 {
			t.Errorf("%d chats are remembered", len(s.chats))
		}
	})
}

func TestSequencerServesAllUnderLoad(t *testing.T) {
	var (
		s    sequencer
		wg   sync.WaitGroup
		busy [4]int
		done [4]int
	)
	for i := range 400 {
		wg.Go(func() {
			c := i % 4
			leave, err := s.enter(t.Context(), string(rune('a'+c)), time.UnixMilli(int64(i*7%100)))
			if err != nil {
				t.Error(err)
				return
			}
			defer leave()
			busy[c]++ // unlocked: the race detector would report an overlap
			if busy[c] != 1 {
				t.Error("two at a time in one chat")
			}
			done[c]++
			busy[c]--
		})
	}
	wg.Wait()
	if done != [4]int{100, 100, 100, 100} {
		t.Errorf("served %v", done)
	}
}
