package feishu

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

// sequencer lets the messages of one chat through one at a time, the oldest of the waiting ones first. The SDK starts a
// goroutine for each frame (ws/client_message.go, startMessageTask), so two messages that arrive together could
// otherwise be handled in either order.
//
// It never waits for a message that has not arrived.
type sequencer struct {
	mu    sync.Mutex
	chats map[string]*queue
}

type queue struct {
	busy    bool
	waiting []*ticket
}

type ticket struct {
	at   time.Time
	turn chan struct{} // closed when this message may proceed
}

// enter waits for this message's turn. The caller calls leave when it is done.
func (s *sequencer) enter(ctx context.Context, chat string, at time.Time) (leave func(), err error) {
	t := &ticket{at: at, turn: make(chan struct{})}
	s.join(chat, t)
	runtime.Gosched() // also lets the goroutines of frames that were read together join
	s.next(chat)
	select {
	case <-t.turn:
		return func() { s.leave(chat) }, nil
	case <-ctx.Done():
		s.abandon(chat, t)
		return nil, ctx.Err()
	}
}

// join inserts t into the chat's queue by its time.
func (s *sequencer) join(chat string, t *ticket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.chats == nil {
		s.chats = make(map[string]*queue)
	}
	q := s.chats[chat]
	if q == nil {
		q = &queue{}
		s.chats[chat] = q
	}
	i, _ := slices.BinarySearchFunc(q.waiting, t, func(a, b *ticket) int {
		if a.at.After(b.at) {
			return 1
		}
		return -1 // equal times keep their order of arrival
	})
	q.waiting = slices.Insert(q.waiting, i, t)
}

// next lets the oldest waiting message through, unless one is being handled.
func (s *sequencer) next(chat string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.chats[chat]
	switch {
	case q == nil || q.busy:
	case len(q.waiting) == 0:
		delete(s.chats, chat)
	default:
		q.busy = true
		close(q.waiting[0].turn)
		q.waiting = q.waiting[1:]
	}
}

func (s *sequencer) leave(chat string) {
	s.mu.Lock()
	s.chats[chat].busy = false
	s.mu.Unlock()
	s.next(chat)
}

// abandon removes t from the queue, or passes its turn on if it had just come.
func (s *sequencer) abandon(chat string, t *ticket) {
	s.mu.Lock()
	q := s.chats[chat]
	select {
	case <-t.turn:
		q.busy = false
	default:
		q.waiting = slices.DeleteFunc(q.waiting, func(w *ticket) bool { return w == t })
	}
	s.mu.Unlock()
	s.next(chat)
}
