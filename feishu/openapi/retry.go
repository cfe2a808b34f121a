package openapi

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/tidwall/gjson"
)

// tokenTries limits the tokens for one attempt: each may be revoked before the call arrives.
const tokenTries = 3

// longestLive is how long a live request waits for a rate limit.
const longestLive = 2 * time.Second

// Backoff while the outcome of a request is unknown.
const (
	minBackoff = 200 * time.Millisecond
	maxBackoff = 5 * time.Second
)

// retry makes a request until its outcome is known. It is the only place that repeats calls:
//   - with a new token if the platform rejects this one;
//   - unchanged, after a pause, if the outcome is unknown or the platform is busy;
//   - as Repair has changed it, if it was refused.
func (c *Client) retry(ctx context.Context, r Request, exchange func(token string) error) error {
	token, tokens := "", 0
	pauses := backoff.ExponentialBackOff{InitialInterval: minBackoff, MaxInterval: maxBackoff, Multiplier: 2}
	for try := 1; ; {
		if r.Pace != nil && r.Live && tokens == 0 {
			if err := wait(ctx, r.Pace.live); err != nil {
				return err
			}
		}
		if r.Before != nil && tokens == 0 {
			if err := r.Before(ctx); err != nil {
				return err
			}
		}
		err := c.requestOnce(ctx, r, &token, exchange)
		// A rejected token does not count as an attempt: the platform has not looked at the request itself.
		if tokens++; ClassOf(err) == BadToken && tokens < tokenTries {
			continue
		}
		token, tokens = "", 0
		pause, again := pauseFor(err, &pauses)
		switch {
		case err == nil, again && try >= r.Tries, again && r.Live && pause > longestLive, !again && r.Repair == nil:
			return err
		case again:
			if Sleep(ctx, pause) != nil {
				return err
			}
			try++
		default:
			if err := r.Repair(ctx, err); err != nil {
				return err
			}
			try = 1
			pauses.Reset()
		}
	}
}

// pauseFor returns the backoff before the same call is made again, and whether a retry makes sense at all.
func pauseFor(err error, wait *backoff.ExponentialBackOff) (time.Duration, bool) {
	switch ClassOf(err) {
	case Unknown:
		return wait.NextBackOff(), true
	case RateLimited:
		var e *Error
		errors.As(err, &e)
		return max(e.wait, time.Second), true
	case Busy:
		return 200 * time.Millisecond, true
	}
	return 0, false
}

// requestOnce makes one request with a token other than the rejected one.
func (c *Client) requestOnce(ctx context.Context, r Request, token *string, exchange func(token string) error) error {
	// Checked before waiting for limits, which would be pointless.
	if c.breaker.isOpen() {
		return &Error{Op: r.Op, Err: ErrCircuitOpen}
	}
	var slots slots
	switch {
	case r.Chat != "":
		slots = c.limits.slots(r.Chat)
	case r.Pace != nil:
		slots = r.Pace.slots
	}
	if slots != nil {
		answered, err := slots.acquire(ctx)
		if err != nil {
			return err
		}
		defer answered()
	}
	// In this order: the limit of a chat or card is the tightest, and a slot in the app's limit must not be held while
	// waiting for it.
	limits := c.limits.limiterFor(r.Method, r.Path)
	if r.LowPriority {
		if err := limits.waitForSpare(ctx); err != nil {
			return err
		}
	}
	if wait, limited := limits.untilReset(); r.Live && wait > longestLive {
		return &Error{Op: r.Op, Code: limited.Code, Msg: limited.Msg, Status: limited.Status, wait: wait}
	}
	if err := limits.wait(ctx); err != nil {
		return err
	}
	answered, err := limits.slots.acquire(ctx)
	if err != nil {
		return err
	}
	defer answered()
	if *token, err = c.tokens.get(ctx, *token); err != nil {
		return err
	}
	if c.shut != nil && c.shut() { // at the last moment: it has waited, and maybe the machine slept
		return &Error{Op: r.Op, Err: errShut}
	}
	err = c.send(r.Op, func() error { return exchange(*token) })
	limits.noteRefusal(err)
	return err
}

// send makes a call through the circuit breaker and counts its outcome.
func (c *Client) send(op string, exchange func() error) error {
	_, err := c.breaker.do(op, func() (gjson.Result, error) {
		err := exchange()
		c.counts.count(err)
		return gjson.Result{}, err
	})
	return err
}

// Sleep waits for d, or returns early with ctx's error.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
