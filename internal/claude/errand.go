package claude

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/google/uuid"

	"magpie/internal/claude/account"
	"magpie/internal/claude/stream"
)

// Errand is a request to the agent outside all chats. The agent has no tools and no other context, and keeps nothing of
// it.
type Errand struct {
	System string // its system prompt
	Text   string // the input

	// Owner's process is not needed after the reply. Wanted is closed when somebody waits for the reply; until then the
	// errand waits for a quiet moment. Both may be empty.
	Owner  string
	Wanted <-chan struct{}
}

// Reply is the agent's reply to an [Errand].
type Reply struct {
	Text    string
	Model   string
	Usage   stream.Usage
	CostUSD float64
}

// ErrErrandTimeout means that an [Errand] was not answered within [workspace.Config.TaskLimit].
var ErrErrandTimeout = errors.New("the agent took too long to reply")

// ErrErrandBusy means that an [Errand] did not run, because the chats were never quiet. It can be retried later.
var ErrErrandBusy = errors.New("the agent was busy with the chats for too long")

// quietPeriod is the default of how long the chats must be quiet before an errand runs.
const quietPeriod = 3 * time.Second

// maxQuietWait is how long an errand waits for a quiet moment.
const maxQuietWait = 10 * time.Minute

// errPreempted stops an errand whose slot a turn needs.
var errPreempted = errors.New("the place is needed for a turn")

// RunErrand runs an errand in its own process. It waits until the chats are quiet and a slot has been free for some
// seconds, and ends no idle process. If a turn needs the slot, the errand is stopped, and runs again after a longer
// quiet period. An errand that is wanted queues for a slot like a turn. When RunErrand returns, nothing of the errand is
// running or left on the disk. A reply is never empty.
func (pl *Pool) RunErrand(ctx context.Context, q Errand) (Reply, error) {
	if strings.TrimSpace(q.System) == "" || strings.TrimSpace(q.Text) == "" {
		return Reply{}, errors.New("ask the agent: nothing is asked")
	}
	dir, err := os.MkdirTemp("", "magpie-ask-") // a folder without a project's instructions
	if err != nil {
		return Reply{}, fmt.Errorf("ask the agent: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is empty, and lies where such folders are cleaned up
	as, err := account.Find(pl.cfg.User)
	if err != nil {
		return Reply{}, err
	}
	if err := as.GrantAccess(dir); err != nil {
		return Reply{}, fmt.Errorf("ask the agent: %w", err)
	}
	waiting, cancel := context.WithTimeoutCause(ctx, maxQuietWait, ErrErrandBusy)
	defer cancel()
	pauses := backoff.ExponentialBackOff{
		InitialInterval: cmp.Or(pl.cfg.Quiet, quietPeriod), MaxInterval: maxQuietWait, Multiplier: 2,
	}
	for {
		reply, err := pl.runOnce(ctx, waiting, Spec{Dir: dir, Task: q.System}, q, pauses.NextBackOff(),
			func(ctx context.Context, p *Process) (Reply, error) { return replyTo(ctx, p, q.Text) })
		switch {
		case err == nil:
			return reply, nil
		case !errors.Is(err, errPreempted) || ctx.Err() != nil:
			return Reply{}, fmt.Errorf("ask the agent: %w", err)
		}
	}
}

// runOnce has the errand answered by its process when there is a slot, for which it waits until waiting ends.
func (pl *Pool) runOnce(
	ctx, waiting context.Context, spec Spec, q Errand, pause time.Duration,
	answer func(context.Context, *Process) (Reply, error),
) (Reply, error) {
	ctx, preempt := context.WithCancelCause(ctx)
	defer preempt(nil)
	e := &entry{state: running, preempt: preempt, wanted: q.Wanted}
	defer pl.discard(e)
	err := pl.awaitQuiet(waiting, e, pause)
	if errors.Is(err, errWanted) {
		if err = pl.acquireTurn(waiting, func(int) {}, func() {}); err == nil {
			defer pl.releaseTurn()
		}
	}
	if err != nil {
		return Reply{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, pl.cfg.TaskLimit.Duration, ErrErrandTimeout)
	defer cancel()
	err = pl.start(ctx, e, spec, func() error { return pl.acquireRoom(ctx, e, q.Owner) })
	if err != nil {
		return Reply{}, err
	}
	defer pl.end(e.p, ctx)
	return answer(ctx, e.p)
}

// errWanted means that somebody started to wait for the reply of an errand that waits for a quiet moment.
var errWanted = errors.New("somebody waits for the answer")

// awaitQuiet puts an errand into the table, and waits until the chats have been quiet for a while and a slot for it is
// free, which it takes.
func (pl *Pool) awaitQuiet(ctx context.Context, e *entry, pause time.Duration) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		select {
		case <-e.wanted:
			stop(errWanted)
		case <-ctx.Done():
		}
	}()
	pl.mu.Lock()
	pl.add(e)
	err := pl.await(ctx, &waiter{ready: func() bool {
		before := 0 // errands
		pl.find(func(other *entry) bool {
			if other.state == running {
				before++
			}
			return other == e
		})
		return before <= max(1, pl.limits.MaxTurns/4)
	}})
	left := pause - time.Since(pl.lastActive)
	pl.mu.Unlock()
	for err == nil {
		select {
		case <-time.After(max(0, left)):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		pl.mu.Lock()
		left = pause - time.Since(pl.lastActive)
		pl.mu.Unlock()
		if left > 0 {
			continue
		}
		if err := pl.tryRoom(e, 1, false); !errors.Is(err, ErrNoRoom) {
			return err
		}
		left = pause // it is quiet but no slot is free
	}
	return err
}

// replyTo runs the only turn of an errand's process.
func replyTo(ctx context.Context, p *Process, question string) (Reply, error) {
	var r stream.Result
	for ev, err := range p.Run(ctx, uuid.NewString(), question) {
		if err != nil {
			return Reply{}, err
		}
		if e, ok := ev.(stream.Result); ok {
			r = e
		}
	}
	switch text := strings.TrimSpace(r.Text); {
	case r.Failure != "":
		// A failure is an error here: the text of an errand goes into a summary, where an error text would pass for
		// content.
		return Reply{}, fmt.Errorf("failure %q: %s", r.Failure, text)
	case text == "":
		return Reply{}, errors.New("it said nothing")
	default:
		return Reply{Text: text, Model: r.Model, Usage: r.Usage, CostUSD: r.CostUSD}, nil
	}
}
