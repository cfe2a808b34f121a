// Package workqueue does work in the order in which it came: a [Queue] so much of it at the same time, a chat's lane of
// [Lanes] one piece after the other. What the work is does not belong here, nor where it is stored.
package workqueue

import (
	"context"
	"slices"
	"sync"
)

// Queue is work that handlers leave to Run, in whose context it is done: so much of it at the same
// time, first come, first served.
type Queue struct {
	most   int
	signal chan struct{}

	mu     sync.Mutex
	list   []func(context.Context)
	placed []func(context.Context) // those that have a place already
	active int                     // places that are taken
}

// New makes a queue that runs at most this many jobs at the same time.
func New(most int) *Queue { return &Queue{most: most, signal: make(chan struct{}, 1)} }

// Enqueue leaves a job. It never blocks.
func (j *Queue) Enqueue(f func(context.Context)) {
	j.mu.Lock()
	j.list = append(j.list, f)
	j.mu.Unlock()
	j.wake()
}

// Reserve takes a place for a job that does not exist yet, if one is free and no job waits for it. The caller fills it
// with Fill or gives it back with Free.
func (j *Queue) Reserve() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.list) > 0 || j.active >= j.most {
		return false
	}
	j.active++
	return true
}

// Fill leaves a job that is done in a place taken with Reserve.
func (j *Queue) Fill(f func(context.Context)) {
	j.mu.Lock()
	j.placed = append(j.placed, f)
	j.mu.Unlock()
	j.wake()
}

// Free gives back a place: one taken with Reserve, or that of a job that is done.
func (j *Queue) Free() {
	j.mu.Lock()
	j.active--
	j.mu.Unlock()
	j.wake()
}

// wake never blocks: the signal has room for one, and one is enough to make run look at the whole list.
func (j *Queue) wake() {
	select {
	case j.signal <- struct{}{}:
	default: // run has been told already
	}
}

// Count tells how many jobs wait, and how many are being done.
func (j *Queue) Count() (waiting, active int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.list), j.active
}

// Run does every job, each in its own goroutine and with ctx. Once stop is closed it returns as soon as nothing is left
// to do.
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
				defer j.Free()
				f(ctx)
			}()
		}
		if waiting, active := j.Count(); stopping && waiting+active == 0 {
			return
		}
	}
}

// claimJobs claims the jobs that have a place, and as many others as there are free places, under the lock that Free
// uses, so the limit cannot be exceeded.
func (j *Queue) claimJobs() []func(context.Context) {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := min(len(j.list), j.most-j.active)
	list := slices.Concat(j.placed, j.list[:n])
	j.placed, j.list = nil, j.list[n:]
	j.active += n
	return list
}
