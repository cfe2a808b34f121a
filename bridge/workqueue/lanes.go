package workqueue

import (
	"sync"

	"magpie/internal/chat"
)

// Lanes has one lane for every chat with work of one kind. Each lane does one piece at a time, and keeps a T as long as
// it has work.
type Lanes[T any] struct {
	mu     sync.Mutex
	byChat map[chat.Key]*lane[T]
	closed bool // no new work may start
}

// lane is the work of one chat.
type lane[T any] struct {
	again bool // work arrived since the lane last looked
	keeps T
}

// Count returns the number of chats with work.
func (ls *Lanes[T]) Count() int {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return len(ls.byChat)
}

// Enter reports whether the caller must start working for the chat. If another worker is active, it will look for work
// again before it leaves, so nothing is lost.
func (ls *Lanes[T]) Enter(key chat.Key) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l := ls.byChat[key]; l != nil {
		l.again = true
		return false
	}
	if ls.closed {
		return false
	}
	if ls.byChat == nil {
		ls.byChat = map[chat.Key]*lane[T]{}
	}
	ls.byChat[key] = &lane[T]{}
	return true
}

// Leave ends the lane unless work arrived since it last looked.
func (ls *Lanes[T]) Leave(key chat.Key) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l := ls.byChat[key]; l.again && !ls.closed {
		l.again = false
		return false
	}
	delete(ls.byChat, key)
	return true
}

// In calls do with what a chat's lane keeps, if it has work. Nothing else changes the lanes meanwhile.
func (ls *Lanes[T]) In(key chat.Key, do func(*T)) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l := ls.byChat[key]; l != nil {
		do(&l.keeps)
	}
}

// Each calls do with what each lane keeps.
func (ls *Lanes[T]) Each(do func(chat.Key, *T)) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for key, l := range ls.byChat {
		do(key, &l.keeps)
	}
}

// Close prevents new work.
func (ls *Lanes[T]) Close() {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.closed = true
}

// Closed reports whether Close was called.
func (ls *Lanes[T]) Closed() bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return ls.closed
}
