package claude

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/google/uuid"
)

// Question is something that the agent is asked apart from all chats. It has no tools, knows nothing but this, and keeps
// nothing of it.
type Question struct {
	Task string // its system prompt
	Text string // what the task is to be done with
}

// Reply is what the agent says to a [Question].
type Reply struct {
	Text    string
	Model   string
	Usage   Usage
	CostUSD float64
}

// ErrAskEnd says that a [Question] was not answered within [Config.AskLimit].
var ErrAskEnd = errors.New("the agent took too long to reply")

// errGaveWay stops a question whose place a turn needs.
var errGaveWay = errors.New("the place is needed for a turn")

// Ask has a process of its own answer q. It takes a place like a turn, but never one that a turn waits for: when one
// does, the question gives its place back, and is asked again when there is room. When Ask returns, nothing of it runs
// any more, and nothing of it is left on the disk. A reply is never empty.
func (pl *Pool) Ask(ctx context.Context, q Question) (Reply, error) {
	if strings.TrimSpace(q.Task) == "" || strings.TrimSpace(q.Text) == "" {
		return Reply{}, errors.New("ask the agent: nothing is asked")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, pl.cfg.AskLimit.Duration, ErrAskEnd)
	defer cancel()
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
	for {
		reply, err := pl.askOnce(ctx, dir, q)
		switch {
		case err == nil:
			return reply, nil
		case !errors.Is(err, errGaveWay) || ctx.Err() != nil:
			return Reply{}, fmt.Errorf("ask the agent: %w", err)
		}
	}
}

// apart owns the processes that are asked apart from the chats.
const apart = ""

// askOnce asks until the agent has replied or a turn needs the place.
func (pl *Pool) askOnce(ctx context.Context, dir string, q Question) (Reply, error) {
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	g := &guest{leave}
	if err := pl.places.spare(ctx, g); err != nil {
		return Reply{}, err
	}
	defer pl.places.vacate(g)
	p, err := pl.acquire(ctx, apart, Spec{Dir: dir, Task: q.Task})
	if err != nil {
		return Reply{}, err
	}
	defer func() {
		pl.end(ctx, p)
		pl.mu.Lock()
		defer pl.mu.Unlock()
		pl.running--
	}()
	var r Result
	for ev, err := range p.Run(ctx, uuid.NewString(), q.Text) {
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

// askArguments make the CLI a model that can only speak, and that keeps no transcript.
func askArguments(c Config, spec Spec) []string {
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
