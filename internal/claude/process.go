package claude

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"magpie/internal/claude/proctree"
)

// Spec is what a process must be for a turn.
type Spec struct {
	Session string // the CLI's session id
	Resume  bool   // the session exists; else it is begun with this id
	Dir     string // working folder
	Mode    string // permission mode
	Model   string // empty = the configured one
	Effort  string // empty = the configured one
	Name    string // title by which a person can resume the session in a terminal; empty = none
	// what its turn may cost, in USD; 0 = no limit. The CLI counts from its start, so a process with one serves one
	// turn
	Budget float64
	Task   string // not empty: the process is for a [Question], and all of the above but Dir is not used

	// Known is asked which prompts a session that is to be resumed was sent, when its process has to be started; see
	// [Transcripts.Verify]. It may be nil.
	Known func() []string `json:"-"`

	Files string // a folder that the agent may read beside Dir; empty = none

	// Tools is called for every process that is started. It may be nil.
	Tools func() Tools `json:"-"`
}

func (s Spec) prompts() []string {
	if s.Known == nil {
		return nil
	}
	return s.Known()
}

// Process is one running CLI. It serves one turn at a time, for as long as its chat keeps it.
type Process struct {
	child  *proctree.Child
	spec   Spec
	in     *input
	out    *outputRouter
	stderr *tail
	limits Config
	ending sync.Once // close

	syncState SyncState
	fresh     bool   // it has not served a turn yet
	mode      string // permission mode that it is in, by its own words; empty = it has said none
	meter     meter
	held      held
}

// held is what the pool notes of a process. The pool's mu guards it.
type held struct {
	place   bool      // it has a place among the processes
	resting bool      // its turn has given its slots away
	spoke   time.Time // when its chat did last
}

// stderrTail is how much of the last words of a process is kept, in bytes.
const stderrTail = 8 << 10

// waitDelay is how long what the CLI started may keep our pipes open after its end.
const waitDelay = time.Second

// An idle CLI ends within 50 ms of the end of its input, and of SIGTERM in any state. Of the signals that end it, this
// is the one after which it still writes its transcript.
const (
	eofPatience  = 1500 * time.Millisecond
	termPatience = 500 * time.Millisecond
)

// start starts a process. It says nothing until its first message.
func start(c Config, spec Spec) (*Process, error) {
	as, err := c.account()
	if err != nil {
		return nil, err
	}
	if c.folder.path != "" {
		if err := c.furnish(spec.Files); err != nil {
			return nil, err
		}
	}
	tools := spec.tools()
	cmd := exec.Command(c.Command, append(arguments(c, spec), tools.arguments()...)...)
	cmd.Dir = spec.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a signal to the bridge's group must not hit it
	as.run(cmd)
	cmd.WaitDelay = waitDelay
	stdin, err := cmd.StdinPipe()
	if err != nil {
		tools.close()
		return nil, fmt.Errorf("start claude: %w", err)
	}
	in := newInput(stdin)
	p := &Process{
		child: proctree.New(cmd, c.Instance), spec: spec, in: in, out: newOutputRouter(in), stderr: &tail{max: stderrTail},
		limits: c, fresh: true,
	}
	cmd.Stdout = &lineWriter{emit: p.out.deliver}
	cmd.Stderr = p.stderr
	if err := p.child.Start(tools.environ(c.environ().withoutMentions(c.Command))); err != nil {
		tools.close()
		in.close()
		return nil, fmt.Errorf("start claude: %w", err)
	}
	go func() {
		p.child.Wait()
		tools.close()
		in.close()
		<-in.done
		p.child.Close()
	}()
	return p, nil
}

func arguments(c Config, spec Spec) []string {
	if spec.Task != "" {
		return taskArguments(c, spec)
	}
	args := []string{
		"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--include-partial-messages", "--permission-prompt-tool", "stdio", c.settingsArgument(),
		"--setting-sources=" + strings.Join(c.SettingSources, ","),
		"--disallowedTools=" + strings.Join(disallowedTools, ","),
	}
	if spec.Resume {
		args = append(args, "--resume="+spec.Session)
	} else {
		args = append(args, "--session-id="+spec.Session)
	}
	if spec.Name != "" {
		args = append(args, "--name="+spec.Name)
	}
	if spec.Mode != "" {
		args = append(args, "--permission-mode="+spec.Mode)
	}
	if m := cmp.Or(spec.Model, c.Model); m != "" {
		args = append(args, "--model="+m)
	}
	if e := cmp.Or(spec.Effort, c.Effort); e != "" {
		args = append(args, "--effort="+e)
	}
	if spec.Budget > 0 {
		args = append(args, "--max-budget-usd="+strconv.FormatFloat(spec.Budget, 'f', -1, 64))
	}
	if spec.Files != "" {
		args = append(args, "--add-dir="+spec.Files)
	}
	for _, rule := range c.AllowedTools {
		args = append(args, "--allowedTools="+rule)
	}
	return args
}

// Fresh reports whether the process has not served a turn yet: it knows nothing but what its session holds.
func (p *Process) Fresh() bool { return p.fresh }

// Standing is what the transcript of the session told before the process was started to resume it.
func (p *Process) SyncState() SyncState { return p.syncState }

// Dir is the folder that the process works in, without symbolic links.
func (p *Process) Dir() string { return p.spec.Dir }

// fits reports whether the process can take the next turn as spec wants it. One that works unasked can not: the
// answer would be lost among what it is doing.
func (p *Process) fits(spec Spec) bool {
	return p.alive() && !p.out.works() && p.spec.Budget == spec.Budget && p.reusable() && p.spec.Session == spec.Session &&
		p.spec.Dir == spec.Dir && p.spec.Files == spec.Files && p.spec.Mode == spec.Mode && p.spec.Model == spec.Model && p.spec.Effort == spec.Effort
}

// reusable reports whether the process may serve a turn, beside what it has served.
func (p *Process) reusable() bool { return p.fresh || p.spec.Budget == 0 }

// Pid is its process id.
func (p *Process) Pid() int { return p.child.Pid() }

// alive reports whether it has not ended yet, or not all it said was read.
func (p *Process) alive() bool { return p.child.Alive() }

// exitError says how the process ended.
func (p *Process) exitError() error { return &ExitError{Err: p.child.Err(), Stderr: p.stderr.String()} }

// close ends the process, and the tools that it left running: it exits by itself when its input ends, else it is told
// to, else it is killed. It takes three seconds at most; when ctx ends, less. Whoever else calls it waits for the
// first.
func (p *Process) close(ctx context.Context) {
	p.ending.Do(func() {
		var left []proctree.Descendant
		if !p.child.Childless() {
			left = p.child.Descendants()
		}
		p.in.close()
		if !p.child.Gone(ctx, eofPatience) {
			p.child.Signal(syscall.SIGTERM)
			if !p.child.Gone(ctx, termPatience) {
				p.child.Kill()
				p.child.Gone(context.Background(), waitDelay)
			}
		}
		proctree.Kill(left)
		if len(left) > 0 || p.alive() || !p.child.Alone() {
			proctree.Kill(p.child.Descendants())
		}
	})
}
