package openapi

import (
	"net/http"
	"sync"
	"time"
)

// clock knows the platform's clock from the Date of its answers. Each tells it to the second only, but all of
// them together narrow it down.
type clock struct {
	mu    sync.Mutex
	known bool
	least time.Duration // the platform's clock is ahead of ours by so much at least
	most  time.Duration // and by so much at most
}

// learn takes the Date of an answer to a call that was made at sent and came back now.
func (c *clock) learn(date string, sent, now time.Time) {
	d, err := http.ParseTime(date)
	if err != nil {
		return
	}
	least, most := d.Sub(now), d.Add(time.Second).Sub(sent)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known && least <= c.most && most >= c.least {
		least, most = max(least, c.least), min(most, c.most)
	} // else one of the clocks was set anew
	c.known, c.least, c.most = true, least, most
}

// surelyAfter reports whether at, by the platform's clock, is certainly not before t by ours.
func (c *clock) surelyAfter(at, t time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known && !at.Before(t.Add(c.most).Truncate(time.Millisecond))
}
