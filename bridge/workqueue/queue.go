// Package workqueue runs work in the order of arrival: a [Queue] runs a limited number of jobs at once, and a chat's
// lane of [Lanes] one at a time. It does not know what the work is, nor where it is stored.
package workqueue

import (
	"context"
	"slices"
	"sync"
	"time"

	"magpie/internal/chat"
)

// Queue runs jobs with the context of Run: a limited number at once, first come, first served.
type Queue struct {
	most   int
	signal chan struct{}

	mu     sync.Mutex
	list   []func(context.Context)
	placed []func(context.Context) // those that have a slot already
	active int                     // taken slots
}

// New makes a queue that runs at most this many jobs at the same time.
func New(most int) *Queue { return &Queue{most: most, signal: make(chan struct{}, 1)} }

// Enqueue adds a job. It never blocks.
func (j *Queue) Enqueue(f func(context.Context)) {
	j.mu.Lock()
	j.list = append(j.list, f)
	j.mu.Unlock()
	j.wake()
}

// Reserve takes a slot for a future job, if one is free and no job is waiting for it. The caller uses it with Fill or
// gives it back with Release.
func (j *Queue) Reserve() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.list) > 0 || j.active >= j.most {
		return false
	}
	j.active++
	return true
}

// Fill adds a job that runs in a slot taken with Reserve.
func (j *Queue) Fill(f func(context.Context)) {
	j.mu.Lock()
	j.placed = append(j.placed, f)
	j.mu.Unlock()
	j.wake()
}

// Release releases a slot: a reserved one, or that of a finished job.
func (j *Queue) Release() {
	j.mu.Lock()
	j.active--
	j.mu.Unlock()
	j.wake()
}

// wake never blocks: the channel has room for one signal, and one makes Run look at the whole list.
func (j *Queue) wake() {
	select {
	case j.signal <- struct{}{}:
	default: // already signaled
	}
}

// Count returns how many jobs are waiting, and how many are running.
func (j *Queue) Count() (waiting, active int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.list), j.active
}

// Run runs each job in its own goroutine, with ctx. Once stop is closed it returns as soon as no job is left.
func (j *Queue) Run(ctx context.Context, stop <-chan struct{}) {
	stopping := false
	for {
		select {
		case <-stop:
			// A nil channel blocks forever, so the closed one is not selected again and again.
			stopping, stop = true, nil
		case <-j.signal:
		}
		for _, f := range j.claimJobs() {
			go func() {
				defer j.Release()
				f(ctx)
			}()
		}
		if waiting, active := j.Count(); stopping && waiting+active == 0 {
			return
		}
	}
}

// claimJobs takes the jobs that have a slot, and as many others as there are free slots. It does so under the lock that
// Release uses, so the limit cannot be exceeded.
func (j *Queue) claimJobs() []func(context.Context) {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := min(len(j.list), j.most-j.active)
	list := slices.Concat(j.placed, j.list[:n])
	j.placed, j.list = nil, j.list[n:]
	j.active += n
	return list
}

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

// StoreRetry is the wait before a database operation is retried.
const StoreRetry = time.Second

// Sleep waits for d, or until ctx is done.
func Sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
