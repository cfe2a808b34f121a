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

	"magpie/internal/i18n"
)

// After this many consecutive calls with an unknown outcome the circuit opens for a while; then one call may try.
const (
	maxFailures    = 5
	breakerTimeout = 30 * time.Second
)

// ErrCircuitOpen matches the [Error] of a call that was not made because the platform does not answer.
var ErrCircuitOpen = i18n.Mistakef(
	"平台没有响应，暂停调用", "the platform is not responding, so calls are paused")

// errShut is the cause of the [Error] of a call that was not made, see [Client.ShutWhile].
var errShut = i18n.Mistakef("另一个鹊桥可能正在调用平台，本进程暂停调用",
	"another bridge may make the calls to the platform, so this one makes none")

// breaker is the circuit breaker of the HTTP API. A refusal is an answer, even one for too many calls. Only an unknown
// outcome counts as a failure.
type breaker struct {
	log     zerolog.Logger
	timeout time.Duration

	mu      sync.Mutex
	breaker *gobreaker.CircuitBreaker[gjson.Result]
}

// newBreaker returns a breaker that stays open for the given time after it has tripped; 0 is the default.
func newBreaker(log zerolog.Logger, openTimeout time.Duration) *breaker {
	g := &breaker{log: log, timeout: cmp.Or(openTimeout, breakerTimeout)}
	g.breaker = g.newCircuit()
	return g
}

func (g *breaker) newCircuit() *gobreaker.CircuitBreaker[gjson.Result] {
	return gobreaker.NewCircuitBreaker[gjson.Result](gobreaker.Settings{
		Timeout:      g.timeout,
		ReadyToTrip:  func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= maxFailures },
		IsSuccessful: func(err error) bool { return ClassOf(err) != Unknown },
		// the caller canceled it
		IsExcluded:    func(err error) bool { return err != nil && !errors.As(err, new(*Error)) },
		OnStateChange: func(_ string, from, to gobreaker.State) { g.logChange(from, to) },
	})
}

// logChange logs the beginning and the end of an outage, but not the attempts in between.
func (g *breaker) logChange(from, to gobreaker.State) {
	switch {
	case from == gobreaker.StateClosed:
		g.log.Warn().Dur("next_try_in", g.timeout).Msg("feishu: the platform is not responding; calls are paused")
	case to == gobreaker.StateClosed:
		g.log.Info().Msg("feishu: the platform is responding again")
	}
}

func (g *breaker) current() *gobreaker.CircuitBreaker[gjson.Result] {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.breaker
}

// do makes the call, or fails at once while the circuit is open.
func (g *breaker) do(op string, call func() (gjson.Result, error)) (gjson.Result, error) {
	answer, err := g.current().Execute(call)
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		return gjson.Result{}, &Error{Op: op, Err: ErrCircuitOpen}
	}
	return answer, err
}

// isTripped reports whether the circuit is open or half-open.
func (g *breaker) isTripped() bool { return g.current().State() != gobreaker.StateClosed }

// isOpen reports whether a call would fail at once. In the half-open state it would while another call is in progress.
func (g *breaker) isOpen() bool {
	b := g.current()
	switch b.State() {
	case gobreaker.StateClosed:
		return false
	case gobreaker.StateHalfOpen:
		c := b.Counts()
		return c.Requests > c.TotalExclusions // a call is in progress
	}
	return true
}

// wait returns when a call would be made.
func (g *breaker) wait(ctx context.Context) error {
	for g.isOpen() {
		if err := Sleep(ctx, min(g.timeout/20, 500*time.Millisecond)); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// reset closes the circuit, since there is other evidence that the platform is back: the long connection.
func (g *breaker) reset() {
	was := g.current()
	if was.State() == gobreaker.StateClosed {
		return
	}
	g.mu.Lock()
	g.breaker = g.newCircuit()
	g.mu.Unlock()
	g.logChange(gobreaker.StateOpen, gobreaker.StateClosed)
}
