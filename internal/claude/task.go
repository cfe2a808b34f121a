package claude

import (
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

// Task is a request to the agent outside all chats. The agent has no tools and no other context, and keeps nothing of
// it.
type Task struct {
	System string // its system prompt
	Text   string // the input

	// Owner's process is not needed after the reply. Wanted is closed when somebody waits for the reply; until then the
	// task waits for a quiet moment. Both may be empty.
	Owner  string
	Wanted <-chan struct{}
}

// Reply is the agent's reply to a [Task].
type Reply struct {
	Text    string
	Model   string
	Usage   stream.Usage
	CostUSD float64
}

// ErrTaskTimeout means that a [Task] was not answered within [workspace.Config.TaskLimit].
var ErrTaskTimeout = errors.New("the agent took too long to reply")

// ErrTaskBusy means that a [Task] did not run, because the chats were never quiet. It can be retried later.
var ErrTaskBusy = errors.New("the agent was busy with the chats for too long")

// maxQuietWait is how long a task waits for a quiet moment.
const maxQuietWait = 10 * time.Minute

// errPreempted stops a task whose slot a turn needs.
var errPreempted = errors.New("the place is needed for a turn")

// taskRunner runs tasks, each in its own process.
type taskRunner struct {
	user         string        // the user of this machine that runs the agent; empty = this program's user
	quiet        time.Duration // how long the chats must be quiet before a task runs
	timeout      time.Duration
	slots        *slots
	processSlots *processSlots
	processes    *processes
	background   *backgroundTasks
}

// RunTask runs a task in its own process. It waits until the chats are quiet and a slot has been free for some seconds,
// and ends no idle process. If a turn needs the slot, the task is stopped, and runs again after a longer quiet period.
// A task that is wanted queues for a slot like a turn. When RunTask returns, nothing of the task is running or left on
// the disk. A reply is never empty.
func (tr *taskRunner) RunTask(ctx context.Context, q Task) (Reply, error) {
	if strings.TrimSpace(q.System) == "" || strings.TrimSpace(q.Text) == "" {
		return Reply{}, errors.New("ask the agent: nothing is asked")
	}
	dir, err := os.MkdirTemp("", "magpie-ask-") // a folder without a project's instructions
	if err != nil {
		return Reply{}, fmt.Errorf("ask the agent: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is empty, and lies where such folders are cleaned up
	as, err := account.Find(tr.user)
	if err != nil {
		return Reply{}, err
	}
	if err := as.GrantAccess(dir); err != nil {
		return Reply{}, fmt.Errorf("ask the agent: %w", err)
	}
	waiting, cancel := context.WithTimeoutCause(ctx, maxQuietWait, ErrTaskBusy)
	defer cancel()
	pauses := backoff.ExponentialBackOff{InitialInterval: tr.quiet, MaxInterval: maxQuietWait, Multiplier: 2}
	for {
		reply, err := tr.runOnce(ctx, waiting, dir, q, pauses.NextBackOff())
		switch {
		case err == nil:
			return reply, nil
		case !errors.Is(err, errPreempted) || ctx.Err() != nil:
			return Reply{}, fmt.Errorf("ask the agent: %w", err)
		}
	}
}

// backgroundOwner owns the processes of background tasks.
const backgroundOwner = ""

// runOnce runs the task when there is a slot, for which it waits until waiting ends.
func (tr *taskRunner) runOnce(ctx, waiting context.Context, dir string, q Task, pause time.Duration) (Reply, error) {
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	g := &backgroundTask{leave, q.Wanted}
	defer tr.background.finish(g)
	done, err := tr.background.waitUntilQuiet(waiting, g, pause)
	if errors.Is(err, errWanted) {
		done, err = tr.acquireSlots(waiting, q.Owner)
	}
	if err != nil {
		return Reply{}, err
	}
	defer done()
	ctx, cancel := context.WithTimeoutCause(ctx, tr.timeout, ErrTaskTimeout)
	defer cancel()
	tr.processes.addRunning(1)
	defer tr.processes.addRunning(-1)
	p, err := tr.processes.start(ctx, backgroundOwner, Spec{Dir: dir, Task: q.System})
	if err != nil {
		return Reply{}, err
	}
	defer tr.processes.terminate(ctx, p)
	return replyTo(ctx, p, q.Text)
}

// acquireSlots waits for a turn's slot and a process slot.
func (tr *taskRunner) acquireSlots(ctx context.Context, owner string) (done func(), err error) {
	if err := tr.slots.acquireTurn(ctx, nil); err != nil {
		return nil, err
	}
	if err := tr.processSlots.acquire(ctx, owner); err != nil {
		tr.slots.releaseTurn()
		return nil, err
	}
	return tr.slots.releaseTurn, nil
}

// replyTo runs the only turn of a task's process.
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
		// A failure is an error here: the text of a task goes into a summary, where an error text would pass for
		// content.
		return Reply{}, fmt.Errorf("failure %q: %s", r.Failure, text)
	case text == "":
		return Reply{}, errors.New("it said nothing")
	default:
		return Reply{Text: text, Model: r.Model, Usage: r.Usage, CostUSD: r.CostUSD}, nil
	}
}
