package openapi

import (
	"net/http"
	"sync"
	"time"
)

// clock estimates the platform's clock from the Date headers of its replies. Each header is only precise to a second;
// together they narrow the difference down.
type clock struct {
	mu    sync.Mutex
	known bool
	least time.Duration // lower bound of the platform's lead over our clock
	most  time.Duration // upper bound
}

// observe evaluates the Date of the answer to a call that was sent at sent and completed at now.
func (c *clock) observe(date string, sent, now time.Time) {
	d, err := http.ParseTime(date)
	if err != nil {
		return
	}
	least, most := d.Sub(now), d.Add(time.Second).Sub(sent)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known && least <= c.most && most >= c.least {
		least, most = max(least, c.least), min(most, c.most)
	} // otherwise one of the clocks was adjusted: start again
	c.known, c.least, c.most = true, least, most
}

// age implements [Client.Age].
func (c *clock) age(at time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(at) + c.least
}

// surelyAfter implements [Client.SurelyAfter].
func (c *clock) surelyAfter(at, t time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known && !at.Before(t.Add(c.most).Truncate(time.Millisecond))
}
