package postgres

import (
	"context"
	"crypto/tls"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/sony/gobreaker/v2"

	"magpie/db/engine"
	"magpie/internal/i18n"
)

// After this many failures in a row the server counts as away. From then on all calls fail at once, but for one a pause,
// which finds out whether it is back.
const (
	maxFailures = 5
	pause       = time.Second
)

// How long the server may say nothing. Its own limits end what it works on, see [limits]; these are for one that does not
// answer at all, nor closes the connection.
const (
	greeting = 5 * time.Second  // to a new connection, and to what is no work: one that was idle, the begin of a transaction
	silence  = 65 * time.Second // to a statement and to a commit: longer than statement_timeout
)

// errSilent means that there was no answer in time.
var errSilent = errors.New("no answer")

// away returns [engine.ErrAway] with what an operator can do about err.
func away(c *pgx.ConnConfig, err error) error {
	at := net.JoinHostPort(c.Host, fmt.Sprint(c.Port))
	say := i18n.Mistakef("%v：%s（%v）", "%v: %s (%v)", engine.ErrAway, at, err)
	if e, ok := errors.AsType[*accessError](explainAccess(c, err)); ok {
		say = e.say
	}
	return &accessError{say, errors.Join(engine.ErrAway, err)}
}

// isAway reports whether err says that no server answers. A statement that has failed is an answer.
func isAway(err error) bool {
	if err == nil {
		return false
	}
	if code := codeOf(err); code != "" {
		return code == adminShutdown || code == crashShutdown || code == cannotConnectNow || strings.HasPrefix(code, connectionException)
	}
	if errors.As(err, new(*tls.CertificateVerificationError)) || strings.Contains(err.Error(), refusedTLS) {
		return false
	}
	return errors.As(err, new(*pgconn.ConnectError)) || errors.As(err, new(net.Error)) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, pgconn.ErrConnClosed) || errors.Is(err, errSilent)
}

// breaker keeps callers from waiting for a server that is away.
type breaker struct {
	config  *pgx.ConnConfig
	silence time.Duration // see [silence]
	circuit *gobreaker.CircuitBreaker[struct{}]
	changed chan struct{} // has an element after a change of the state

	mu    sync.Mutex
	era   context.Context // ends when the server goes away, with all its connections
	end   context.CancelFunc
	cause error // [engine.ErrAway], with the last failure
}

func newBreaker(c *pgx.ConnConfig) *breaker {
	b := &breaker{config: c, silence: silence, changed: make(chan struct{}, 1)}
	b.era, b.end = context.WithCancel(context.Background())
	b.circuit = gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Timeout:      pause,
		ReadyToTrip:  func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= maxFailures },
		IsSuccessful: func(err error) bool { return !errors.Is(err, engine.ErrAway) },
		// the caller has given up, or the connection was known to be closed
		IsExcluded: func(err error) bool { return err == context.Canceled || err == driver.ErrBadConn },
		OnStateChange: func(_ string, from, to gobreaker.State) {
			if from == gobreaker.StateClosed {
				b.closeAll()
			}
			select {
			case b.changed <- struct{}{}:
			default: // nobody has looked at the one before
			}
		},
	})
	return b
}

// closeAll ends what waits for an answer, and has the pools forget their connections.
func (b *breaker) closeAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.end()
	b.era, b.end = context.WithCancel(context.Background())
}

func (b *breaker) now() context.Context {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.era
}

// away is why no calls are made; nil = the server answers, or has not been silent for long.
func (b *breaker) away() error {
	if b.circuit.State() == gobreaker.StateClosed {
		return nil
	}
	return b.lastCause()
}

func (b *breaker) lastCause() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cause
}

// watch reports each change of [breaker.away] until ctx is done.
func (b *breaker) watch(ctx context.Context, tell func(error)) {
	told := false
	for {
		select {
		case <-b.changed:
		case <-ctx.Done():
			return
		}
		if err := b.away(); (err != nil) != told {
			told = err != nil
			tell(err)
		}
	}
}

// try does something at the server, unless that is away.
func (b *breaker) try(c *call, do func() error) (err error) {
	_, refused := b.circuit.Execute(func() (_ struct{}, _ error) {
		if err = do(); err != nil && c.Err() != nil {
			err = errors.Join(context.Cause(c), err) // the driver's error may not tell why
		}
		if err != nil && c.caller.Err() != nil { // it says nothing about the server
			return struct{}{}, context.Canceled
		}
		if isAway(err) {
			err = away(b.config, err)
			b.mu.Lock()
			defer b.mu.Unlock()
			b.cause = err
		}
		return struct{}{}, err
	})
	if errors.Is(refused, gobreaker.ErrOpenState) || errors.Is(refused, gobreaker.ErrTooManyRequests) {
		return b.lastCause()
	}
	return err
}

// call is the context of something that is done at the server. It ends with that of the caller, when the server goes away,
// or when it says nothing for too long.
type call struct {
	context.Context
	caller context.Context
	cancel context.CancelCauseFunc
	stop   func() bool
	timer  *time.Timer
}

// newCall returns the context of something for which the server has some time. The caller must end it.
func newCall(caller, era context.Context, within time.Duration) *call {
	ctx, cancel := context.WithCancelCause(caller)
	giveUp := func() { cancel(errSilent) }
	return &call{ctx, caller, cancel, context.AfterFunc(era, giveUp), time.AfterFunc(within, giveUp)}
}

// end must be called when everything is done, or has failed.
func (c *call) end() {
	c.timer.Stop()
	c.stop()
	c.cancel(nil)
}
