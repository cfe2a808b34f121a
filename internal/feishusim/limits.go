package feishusim

import (
	"sync"
	"time"
)

// quota is a limit of n requests with one key in any span of that length.
type quota struct {
	key  string
	n    int // not positive: no limit
	span time.Duration
}

// limiter counts requests in sliding windows. The platform does not say how it counts; a sliding window is the
// strictest reading of "n per second".
type limiter struct {
	mu   sync.Mutex
	seen map[string][]time.Time // oldest first, per key
}

func newLimiter() *limiter {
	return &limiter{seen: make(map[string][]time.Time)}
}

// allow counts one request against all quotas, or against none if one of them is used up; then it returns the time
// until there is room again.
func (l *limiter) allow(now time.Time, quotas ...quota) (wait time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// All quotas are checked before any is charged, so a refused request does not count.
	for _, q := range quotas {
		recent := dropBefore(l.seen[q.key], now.Add(-q.span))
		l.seen[q.key] = recent
		if q.n > 0 && len(recent) >= q.n {
			return recent[len(recent)-q.n].Add(q.span).Sub(now), false
		}
	}
	for _, q := range quotas {
		if q.n > 0 {
			l.seen[q.key] = append(l.seen[q.key], now)
		}
		if len(l.seen[q.key]) == 0 {
			delete(l.seen, q.key)
		}
	}
	return 0, true
}

func dropBefore(times []time.Time, from time.Time) []time.Time {
	for len(times) > 0 && !times[0].After(from) {
		times = times[1:]
	}
	return times
}
