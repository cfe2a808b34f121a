//go:build unix

package main

import (
	"slices"
	"sync"
)

// inbox is the prompts that were read and are not answered yet. What is written meanwhile waits.
type inbox struct {
	mu     sync.Mutex
	wake   *sync.Cond
	list   []message
	closed bool
}

func newInbox() *inbox {
	b := &inbox{}
	b.wake = sync.NewCond(&b.mu)
	return b
}

func (b *inbox) put(m message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list = append(b.list, m)
	b.wake.Signal()
}

// close says that no more comes.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.wake.Signal()
}

// next waits for prompts and takes all that there are. There are none when no more come.
func (b *inbox) next() []message {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.list) == 0 && !b.closed {
		b.wake.Wait()
	}
	return b.pop()
}

// now takes the prompts that are there.
func (b *inbox) now() []message {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pop()
}

// pop takes what belongs together: the end of a task is told alone.
func (b *inbox) pop() []message {
	n := slices.IndexFunc(b.list, func(m message) bool { return m.notice })
	switch {
	case n < 0:
		n = len(b.list)
	case n == 0:
		n = 1
	}
	list := slices.Clone(b.list[:n])
	b.list = b.list[n:]
	return list
}
