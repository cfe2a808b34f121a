package claude

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/tidwall/gjson"

	"magpie/internal/claude/proctree"
	"magpie/internal/claude/stream"
	"magpie/internal/claude/transcript"
	"magpie/internal/claude/workspace"
)

// Process is one running CLI. It serves one turn at a time.
type Process struct {
	child   *proctree.Child
	program workspace.Program // that it runs
	spec    Spec
	tools   Tools
	in      *stream.Input
	out     *outputRouter
	stderr  *stream.TailBuffer
	ending  sync.Once // close

	suspended atomic.Bool // see [ErrSuspended]

	timeouts timeouts
	commands workspace.SlashCommands

	session sessionState
	spoiled bool // it has messages that no turn will read
	meter   meter
}

// sessionState is the known state of a process's session.
type sessionState struct {
	sync    transcript.SyncState // from its transcript, before the process was started
	fresh   bool                 // the process has not served a turn yet
	unnamed bool                 // it has no name yet
	mode    permissionMode
}

// permissionMode is the mode that a process has reported; empty = none.
type permissionMode string

// restore sets the wanted mode again: an approved plan, or the agent itself, may have changed it.
func (m permissionMode) restore(in *stream.Input, wanted string) {
	if m != "" && string(m) != wanted && wanted != "" {
		in.SetMode(wanted)
	}
}

// track records the mode that the process reports.
func (m *permissionMode) track(line []byte) {
	if kind := gjson.GetBytes(line, "type").String(); kind != "system" {
		return
	}
	if mode := gjson.GetBytes(line, "permissionMode").String(); mode != "" {
		*m = permissionMode(mode)
	}
}

// waitDelay is how long descendants of the CLI may keep our pipes open after its end.
const waitDelay = time.Second

// An idle CLI ends within 50 ms after the end of its input, and after SIGTERM in any state. SIGTERM is the signal after
// which it still writes its transcript.
const (
	eofGrace  = 1500 * time.Millisecond
	termGrace = 500 * time.Millisecond
)

// start starts a process. It has no output until its first message.
func start(a workspace.Agent, spec Spec) (*Process, error) {
	l, err := a.Launch(spec)
	if err != nil {
		return nil, err
	}
	c, cmd, tools := a.Config, l.Cmd, l.Tools
	cmd.WaitDelay = waitDelay
	stdin, err := cmd.StdinPipe()
	if err != nil {
		tools.Close()
		return nil, fmt.Errorf("start claude: %w", err)
	}
	in := stream.NewInput(stdin)
	p := &Process{
		child: proctree.New(cmd, c.Instance, spec.Session), program: l.Program, spec: spec, tools: tools, in: in,
		out: newOutputRouter(in), stderr: &stream.TailBuffer{},
		timeouts: newTimeouts(c), commands: c.SlashCommands(), session: sessionState{fresh: true},
	}
	p.out.unknown = c.Unknown
	p.out.unasked = UnaskedWork{
		in: in, allowed: l.Unasked, mode: spec.Mode, tasks: newTasks(), asks: map[string]bool{},
	}
	lines := &stream.LineWriter{Emit: p.out.deliver}
	cmd.Stdout = lines
	cmd.Stderr = p.stderr
	if err := p.child.Start(l.Env, l.Wall); err != nil {
		tools.Close()
		in.Close()
		return nil, &StartError{fmt.Errorf("start claude: %w", err), l.Program}
	}
	go func() {
		p.child.Wait()
		p.out.noteWords(lines.Partial)
		p.out.unasked.reportEnd()
		tools.Close()
		in.Close()
		<-in.Done()
		p.child.Close()
	}()
	return p, nil
}

// Fresh reports whether the process has not served a turn yet: it knows only the content of its session.
func (p *Process) Fresh() bool { return p.session.fresh }

// SyncState is the state of the resumed session's transcript before the process was started.
func (p *Process) SyncState() transcript.SyncState { return p.session.sync }

// Dir is the process's working folder, without symbolic links.
func (p *Process) Dir() string { return p.spec.Dir }

// Session is the ID of the process's session. It differs from the one requested by a turn if the process was started
// ahead; see [Pool.TakeSpare].
func (p *Process) Session() string { return p.spec.Session }

// fits reports whether the process can serve the next turn with this spec. A process that is working on its own cannot:
// the answer would be lost in its output.
func (p *Process) fits(spec Spec) bool {
	return p.alive() && !p.out.isBusy() && p.spec.Budget == spec.Budget && p.reusable() && p.fitsSession(spec) &&
		p.spec.Files == spec.Files && p.spec.Alike(spec) && p.child.WallHolds()
}

// fitsSession reports whether the process has the session that spec wants, or a new one if spec wants a new one.
func (p *Process) fitsSession(spec Spec) bool {
	return p.spec.Session == spec.Session || p.session.fresh && !p.spec.Resume && !spec.Resume
}

// sendName names the session of a process that was started ahead. It comes after the first turn, which it must not
// delay.
func (p *Process) sendName() {
	if p.session.unnamed {
		p.session.unnamed = false
		p.in.SendControl(stream.RenameSession(p.spec.Name))
	}
}

// reusable reports whether the process may serve another turn.
func (p *Process) reusable() bool {
	return !p.spoiled && (p.session.fresh || p.spec.Budget == 0 && !p.spec.Plain)
}

// Pid is the process ID.
func (p *Process) Pid() int { return p.child.Pid() }

// isReady reports whether the process has started.
func (p *Process) isReady() bool {
	select {
	case <-p.out.ready:
		return true
	default:
		return false
	}
}

// alive reports whether the process is running, or its output was not read completely.
func (p *Process) alive() bool { return p.child.Alive() }

// ExitError means that the CLI ended before the turn did.
type ExitError struct {
	Err    error  // how the process ended
	Stderr string // the end of its output there, or of what it has written that is no line of its protocol; for operators
}

func (e *ExitError) Error() string {
	if e.Stderr == "" {
		return fmt.Sprintf("claude ended in the middle of a turn: %v", e.Err)
	}
	return fmt.Sprintf("claude ended in the middle of a turn: %v: %s", e.Err, e.Stderr)
}

func (e *ExitError) Unwrap() error { return e.Err }

// ErrSuspended means that a process was ended by [Pool.Suspend], which is no fault of it.
var ErrSuspended = errors.New("claude: the pool was suspended")

// exitError describes how the process ended.
func (p *Process) exitError() error {
	if p.suspended.Load() {
		return ErrSuspended
	}
	exit := &ExitError{Err: p.child.Err(), Stderr: cmp.Or(p.stderr.String(), p.out.words.String())}
	if !p.out.said.Load() {
		return &StartError{exit, p.program}
	}
	return exit
}

// close ends the process, and the tools that it left running. It closes the input, then terminates, then kills. It
// takes at most three seconds, or less if ctx ends. Further callers wait for the first one.
func (p *Process) close(ctx context.Context) {
	p.ending.Do(func() {
		// Descendants are listed first: after the death of their parent they can no longer be found through it (each
		// Bash call of the CLI leads its own session, 2.1.197).
		var left []proctree.Descendant
		if !p.child.Childless() {
			left = p.child.Descendants()
		}
		p.in.Close()
		if !p.child.WaitGone(ctx, eofGrace) {
			p.child.Signal(syscall.SIGTERM)
			if !p.child.WaitGone(ctx, termGrace) {
				p.child.Kill()
				p.child.WaitGone(context.Background(), waitDelay)
			}
		}
		proctree.Kill(left)
		// Others may have been started since the list was made.
		if len(left) > 0 || p.alive() || !p.child.LeftNothing() {
			proctree.Kill(p.child.Descendants())
		}
	})
}
