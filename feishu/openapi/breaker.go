package openapi

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/sony/gobreaker/v2"
	"github.com/tidwall/gjson"
)

// After so many calls in a row whose outcome is unknown no more are made for a while; then one may try.
const (
	mostFailures   = 5
	breakerTimeout = 30 * time.Second
)

// ErrCircuitOpen is matched by an [Error] of a call that was not made, because the platform does not answer.
var ErrCircuitOpen = errors.New("the platform does not answer; calls wait until it does")

// breaker stands before the HTTP API. What comes back as a refusal, also for too many calls, is an answer; what counts
// as a failure is an outcome that is unknown.
type breaker struct {
	log  zerolog.Logger
	rest time.Duration

	mu      sync.Mutex
	breaker *gobreaker.CircuitBreaker[gjson.Result]
}

// newBreaker makes a breaker that stays open for so long after an outage was noticed; 0 is the usual time.
func newBreaker(log zerolog.Logger, rest time.Duration) *breaker {
	g := &breaker{log: log, rest: cmp.Or(rest, breakerTimeout)}
	g.breaker = g.fresh()
	return g
}

func (g *breaker) fresh() *gobreaker.CircuitBreaker[gjson.Result] {
	return gobreaker.NewCircuitBreaker[gjson.Result](gobreaker.Settings{
		Timeout:       g.rest,
		ReadyToTrip:   func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= mostFailures },
		IsSuccessful:  func(err error) bool { return ClassOf(err) != Unknown },
		IsExcluded:    func(err error) bool { return err != nil && !errors.As(err, new(*Error)) }, // the caller gave it up
		OnStateChange: func(_ string, from, to gobreaker.State) { g.tell(from, to) },
	})
}

// tell logs an outage's beginning and its end. What lies between are tries.
func (g *breaker) tell(from, to gobreaker.State) {
	switch {
	case from == gobreaker.StateClosed:
		g.log.Warn().Dur("next_try_in", g.rest).Msg("feishu: the platform does not answer, calls wait")
	case to == gobreaker.StateClosed:
		g.log.Info().Msg("feishu: the platform answers again")
	}
}

func (g *breaker) current() *gobreaker.CircuitBreaker[gjson.Result] {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.breaker
}

// do makes the call, or fails at once while the platform is away.
func (g *breaker) do(op string, call func() (gjson.Result, error)) (gjson.Result, error) {
	answer, err := g.current().Execute(call)
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		return gjson.Result{}, &Error{Op: op, Err: ErrCircuitOpen}
	}
	return answer, err
}

// away reports whether the platform does not answer.
func (g *breaker) away() bool { return g.current().State() != gobreaker.StateClosed }

// isOpen reports whether a call would fail at once.
func (g *breaker) isOpen() bool {
	b := g.current()
	switch b.State() {
	case gobreaker.StateClosed:
		return false
	case gobreaker.StateHalfOpen:
		c := b.Counts()
		return c.Requests > c.TotalExclusions // somebody is trying
	}
	return true
}

// wait returns when a call would be made.
func (g *breaker) wait(ctx context.Context) error {
	for g.isOpen() {
		if err := Sleep(ctx, min(g.rest/20, 500*time.Millisecond)); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// reset lets calls through again, since there is other evidence that the platform is back.
func (g *breaker) reset() {
	was := g.current()
	if was.State() == gobreaker.StateClosed {
		return
	}
	g.mu.Lock()
	g.breaker = g.fresh()
	g.mu.Unlock()
	g.tell(gobreaker.StateOpen, gobreaker.StateClosed)
}
