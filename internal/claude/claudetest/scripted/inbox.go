//go:build unix

package main

import (
	"slices"
	"sync"
)

// inbox has the prompts that were read and not answered yet.
type inbox struct {
	mu     sync.Mutex
	wake   *sync.Cond
	list   []message
	closed bool
	came   func(message) // notes that there is another one; nil = nobody needs to know
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
	if b.came != nil {
		b.came(m)
	}
	b.wake.Signal()
}

// close means that no more prompts come.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.wake.Signal()
}

// next waits for prompts and takes all of them. There are none once no more come.
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

// pop takes prompts that belong together: the end of a task is reported alone.
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
