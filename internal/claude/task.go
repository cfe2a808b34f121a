package claude

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Task is something that the agent is asked apart from all chats. It has no tools, knows nothing but this, and keeps
// nothing of it.
type Task struct {
	System string // its system prompt
	Text   string // what the task is to be done with

	// Owner's process is not needed any more once there is an answer. Wanted is closed when somebody waits for it:
	// until then the question waits for a quiet moment. Both may be empty.
	Owner  string
	Wanted <-chan struct{}
}

// Reply is what the agent says to a [Task].
type Reply struct {
	Text    string
	Model   string
	Usage   Usage
	CostUSD float64
}

// ErrTaskTimeout says that a [Task] was not answered within [Config.TaskLimit].
var ErrTaskTimeout = errors.New("the agent took too long to reply")

// ErrTaskBusy says that a [Task] was not asked: there was always something else to do. It can be asked again later.
var ErrTaskBusy = errors.New("the agent was busy with the chats for too long")

// askPatience is how long a question waits for a quiet moment.
const askPatience = 10 * time.Minute

// errGaveWay stops a question whose place a turn needs.
var errGaveWay = errors.New("the place is needed for a turn")

// RunTask has a process of its own answer q. It waits until the chats are quiet and there has been a free place for a
// process for some seconds, and ends no process that waits for its chat. Should a turn need the place anyway, the
// question gives it back, and waits for a longer quiet. A question that is wanted gets its place as a turn does, in its
// order. When RunTask returns, nothing of it runs any more, and nothing of it is left on the disk. A reply is never
// empty.
func (pl *Pool) RunTask(ctx context.Context, q Task) (Reply, error) {
	if strings.TrimSpace(q.System) == "" || strings.TrimSpace(q.Text) == "" {
		return Reply{}, errors.New("ask the agent: nothing is asked")
	}
	dir, err := os.MkdirTemp("", "magpie-ask-") // no project's instructions lie there
	if err != nil {
		return Reply{}, fmt.Errorf("ask the agent: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is empty, and lies where such folders are cleaned up
	as, err := pl.cfg.account()
	if err != nil {
		return Reply{}, err
	}
	if err := as.admit(dir); err != nil {
		return Reply{}, fmt.Errorf("ask the agent: %w", err)
	}
	waiting, cancel := context.WithTimeoutCause(ctx, askPatience, ErrTaskBusy)
	defer cancel()
	for pause := cmp.Or(pl.cfg.Quiet, quiet); ; pause *= 2 {
		reply, err := pl.runOnce(ctx, waiting, dir, q, pause)
		switch {
		case err == nil:
			return reply, nil
		case !errors.Is(err, errGaveWay) || ctx.Err() != nil:
			return Reply{}, fmt.Errorf("ask the agent: %w", err)
		}
	}
}

// apart owns the processes that are asked apart from the chats.
const backgroundOwner = ""

// runOnce asks when there is a place, for which it waits as long as waiting lasts.
func (pl *Pool) runOnce(ctx, waiting context.Context, dir string, q Task, pause time.Duration) (Reply, error) {
	done, err := pl.lull(waiting, q, pause)
	if errors.Is(err, errWanted) {
		done, err = pl.queue(waiting, q.Owner)
	}
	if err != nil {
		return Reply{}, err
	}
	defer done()
	ctx, cancel := context.WithTimeoutCause(ctx, pl.cfg.TaskLimit.Duration, ErrTaskTimeout)
	defer cancel()
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	g := &backgroundTask{leave, q.Wanted}
	pl.questions.enter(g)
	defer pl.questions.exit(g)
	pl.run(1)
	defer pl.run(-1)
	p, err := pl.start(ctx, backgroundOwner, Spec{Dir: dir, Task: q.System})
	if err != nil {
		return Reply{}, err
	}
	defer pl.end(ctx, p)
	return p.reply(ctx, q.Text)
}

// queue waits for a place for a process among the turns.
func (pl *Pool) queue(ctx context.Context, owner string) (done func(), err error) {
	if err := pl.slots.take(ctx); err != nil {
		return nil, err
	}
	if err := pl.makeRoom(ctx, owner); err != nil {
		pl.slots.leave()
		return nil, err
	}
	return pl.slots.leave, nil
}

// reply asks a process that serves nothing else.
func (p *Process) reply(ctx context.Context, question string) (Reply, error) {
	var r Result
	for ev, err := range p.Run(ctx, uuid.NewString(), question) {
		if err != nil {
			return Reply{}, err
		}
		if e, ok := ev.(Result); ok {
			r = e
		}
	}
	switch text := strings.TrimSpace(r.Text); {
	case r.Failure != "":
		return Reply{}, fmt.Errorf("failure %q: %s", r.Failure, text)
	case text == "":
		return Reply{}, errors.New("it said nothing")
	default:
		return Reply{Text: text, Model: r.Model, Usage: r.Usage, CostUSD: r.CostUSD}, nil
	}
}

// taskArguments make the CLI a model that can only speak, and that keeps no transcript.
func taskArguments(c Config, spec Spec) []string {
	args := []string{
		"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--include-partial-messages", "--tools=", "--setting-sources=", "--strict-mcp-config", "--disable-slash-commands",
		"--no-session-persistence", "--system-prompt=" + spec.Task,
	}
	if strings.TrimSpace(c.Settings) != "" {
		args = append(args, "--settings="+c.settingsFile("login"))
	}
	if c.Model != "" {
		args = append(args, "--model="+c.Model)
	}
	return args
}
