package modelsim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// record keeps all model calls.
type record struct {
	mu         sync.Mutex
	ids        int
	calls      []*call
	unexpected []string
	changed    chan struct{} // closed and replaced at every change
	closed     bool
}

// call is a request with its growing reply. The record's mutex guards both.
type call struct {
	record  *record
	request Request
	reply   strings.Builder
}

func newRecord() *record { return &record{changed: make(chan struct{})} }

// change runs f and wakes those who wait.
func (c *record) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	close(c.changed)
	c.changed = make(chan struct{})
}

// addCall records a new request and numbers it.
func (c *record) addCall(r *Request) *call {
	k := &call{record: c, request: *r}
	c.change(func() {
		c.ids++
		k.request.ID = c.ids
		c.calls = append(c.calls, k)
	})
	return k
}

func (c *record) unknown(what string) {
	c.change(func() { c.unexpected = append(c.unexpected, what) })
}

func (c *record) clear() {
	c.change(func() { c.calls, c.unexpected = nil, nil })
}

func (c *record) close() {
	c.change(func() { c.closed = true })
}

// incoming is a copy of the request for those who answer it.
func (k *call) incoming() *Request {
	k.record.mu.Lock()
	defer k.record.mu.Unlock()
	r := k.request
	return &r
}

// status records that headers, or an error in the stream, were sent.
func (k *call) status(status int) {
	k.record.change(func() { k.request.Status = status })
}

// delta records that something was sent, with its text if any.
func (k *call) delta(text string) {
	k.record.change(func() {
		k.request.LastDelta = time.Now()
		if k.request.FirstDelta.IsZero() {
			k.request.FirstDelta = k.request.LastDelta
		}
		k.reply.WriteString(text)
	})
}

// finish records that a request was answered or canceled.
func (k *call) finish(cancelled bool) {
	k.record.change(func() { k.request.End, k.request.Cancelled = time.Now(), cancelled })
}

// snapshot returns copies of all requests, and a channel that is closed at the next change.
func (c *record) snapshot() (list []Request, changed <-chan struct{}, closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list = make([]Request, len(c.calls))
	for i, k := range c.calls {
		list[i] = k.request
		list[i].Reply = k.reply.String()
	}
	return list, c.changed, c.closed
}

// Requests returns all model calls so far in order of arrival. They are copies that share what never changes.
func (c *record) Requests() []Request {
	list, _, _ := c.snapshot()
	return list
}

// Unexpected lists requests that this double does not support, as "METHOD /path".
func (c *record) Unexpected() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.unexpected)
}

// errClosed is the error of Await when no more requests can come.
var errClosed = errors.New("the server is closed")

// Await waits until cond accepts the requests. It checks again whenever one arrives, grows or ends.
func (c *record) Await(ctx context.Context, cond func([]Request) bool) error {
	for {
		list, changed, closed := c.snapshot()
		switch {
		case cond(list):
			return nil
		case closed:
			return fmt.Errorf("await after %d requests: %w", len(list), errClosed)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("await after %d requests: %w", len(list), context.Cause(ctx))
		}
	}
}
