package feishusim

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// How many records of each kind are kept, so that a playground can run for days; the oldest are dropped first.
// Deliveries are small, and each message of a bot leads to several.
const (
	maxRecords    = 20_000
	maxDeliveries = 100_000
)

// records remembers what clients did.
type records struct {
	notify *notifier

	mu         sync.Mutex
	numbered   int // calls so far
	calls      []Call
	violations []Violation
	deliveries []*Delivery
}

// Calls returns every HTTP request so far, in order of completion.
func (r *records) Calls() []Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

// Violations returns every breach of a platform rule so far.
func (r *records) Violations() []Violation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.violations)
}

// Deliveries returns every push of an event so far.
func (r *records) Deliveries() []Delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Delivery, len(r.deliveries))
	for i, d := range r.deliveries {
		out[i] = *d
	}
	return out
}

// nextCall returns the number of a request that starts.
func (r *records) nextCall() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.numbered++
	return r.numbered
}

func (r *records) addCall(c Call) {
	r.mu.Lock()
	r.calls = appendBounded(r.calls, c, maxRecords)
	r.mu.Unlock()
	r.notify.bump()
}

func (r *records) violate(rule Rule, call int, format string, args ...any) {
	v := Violation{At: time.Now(), Rule: rule, Detail: fmt.Sprintf(format, args...), Call: call}
	r.mu.Lock()
	r.violations = appendBounded(r.violations, v, maxRecords)
	r.mu.Unlock()
	r.notify.bump()
}

func (r *records) addDelivery(d *Delivery) {
	r.mu.Lock()
	r.deliveries = appendBounded(r.deliveries, d, maxDeliveries)
	r.mu.Unlock()
	r.notify.bump()
}

// updateDelivery changes a delivery that addDelivery was given.
func (r *records) updateDelivery(d *Delivery, change func(*Delivery)) {
	r.mu.Lock()
	change(d)
	r.mu.Unlock()
	r.notify.bump()
}

// appendBounded drops a tenth at once, so that not every append at the limit copies the whole list.
func appendBounded[T any](s []T, v T, most int) []T {
	if len(s) >= most {
		s = slices.Clone(s[most/10:])
	}
	return append(s, v)
}
