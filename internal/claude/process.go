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

	"github.com/google/uuid"
	"github.com/tidwall/gjson"
)

// Spec is what a process must be for a turn.
type Spec struct {
	Session string  // the CLI's session id
	Resume  bool    // the session exists; else it is begun with this id
	Dir     string  // working folder
	Mode    string  // permission mode
	Model   string  // empty = the configured one
	Effort  string  // empty = the configured one
	Name    string  // title by which a person can resume the session in a terminal; empty = none
	Budget  float64 // what its turn may cost, in USD; 0 = no limit. The CLI counts from its start, so a process with one serves one turn
	Task    string  // not empty: the process is for a [Question], and all of the above but Dir is not used

	// Known is asked which prompts a session that is to be resumed was sent, when its process has to be started; see
	// [Config.Verify]. It may be nil.
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
	spec   Spec
	cmd    *exec.Cmd
	mark   string // in the environment of the process and of all that it starts
	in     *input
	self   identity // by which it is found in the table of processes
	stderr *tail
	limits Config
	exited chan struct{} // closed when the process has ended and all it said was read
	ending sync.Once     // close
	closed chan struct{} // closed when close is through
	err    error         // how it ended; set before exited is closed
	fresh  bool          // it has not served a turn yet
	alone  bool          // it has ended, and no process was left that it may have started; set before exited is closed
	cost   float64       // what it reported so far, in USD; it counts from its own start
	mode   string        // permission mode that it is in, by its own words; empty = it has said none

	standing Standing
	resting  bool // it has no place of the pool; guarded by the pool's mu

	mu   sync.Mutex
	turn *run // nil between turns
	busy bool // between turns: it works unasked, since a background task has ended
}

// stderrTail is how much of the last words of a process is kept, in bytes.
const stderrTail = 8 << 10

// markName is the variable of the environment by which our processes, and all that they start, are known. Its value is
// the instance, a slash, and what no other process has.
const markName = "MAGPIE_PROCESS"

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
	tools := spec.tools()
	cmd := exec.Command(c.Command, append(arguments(c, spec), tools.arguments()...)...)
	cmd.Dir = spec.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a signal to the bridge's group must not hit it
	if as != nil {
		cmd.SysProcAttr.Credential = as.credential
	}
	cmd.WaitDelay = waitDelay
	p := &Process{
		spec: spec, cmd: cmd, mark: markName + "=" + c.Instance + "/" + uuid.NewString(), stderr: &tail{max: stderrTail},
		limits: c, exited: make(chan struct{}), closed: make(chan struct{}), fresh: true,
	}
	cmd.Env = append(tools.environ(c.environ()), p.mark)
	cmd.Stdout = &lineWriter{emit: p.deliver}
	cmd.Stderr = p.stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		tools.close()
		return nil, fmt.Errorf("start claude: %w", err)
	}
	if err := house.start(p); err != nil {
		tools.close()
		return nil, fmt.Errorf("start claude: %w", err)
	}
	p.in = newInput(stdin)
	go func() {
		p.err = cmd.Wait()
		tools.close()
		house.leave(p)
		p.in.close()
		<-p.in.done
		close(p.exited)
	}()
	return p, nil
}

func arguments(c Config, spec Spec) []string {
	if spec.Task != "" {
		return askArguments(c, spec)
	}
	args := []string{
		"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--include-partial-messages", "--permission-prompt-tool", "stdio", c.settingsArgument(),
		"--setting-sources=" + strings.Join(c.SettingSources, ","),
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
func (p *Process) Standing() Standing { return p.standing }

// Dir is the folder that the process works in, without symbolic links.
func (p *Process) Dir() string { return p.spec.Dir }

// Pid is the process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

func (p *Process) alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// deliver hands a line to the turn that runs.
func (p *Process) deliver(line []byte) {
	p.mu.Lock()
	r := p.turn
	if r == nil {
		p.overhear(line)
	}
	p.mu.Unlock()
	if r == nil {
		return
	}
	select {
	case r.lines <- line:
	case <-r.done:
	}
}

// overhear is for what the process says between turns, unasked: the end of a background task may have woken it. Nobody
// listens, but a question must be answered or it waits for ever. The caller holds mu.
func (p *Process) overhear(line []byte) {
	if q, ok := toolAsk(line); ok {
		p.refuse(q)
		return
	}
	switch kind := gjson.GetBytes(line, "type").String(); {
	case kind == "system" && gjson.GetBytes(line, "subtype").String() == "init":
		p.busy = true
	case kind == "result":
		p.busy = false
	}
}

// fits reports whether the process can take the next turn as spec wants it. One that works unasked can not: the
// answer would be lost among what it is doing.
func (p *Process) fits(spec Spec) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.alive() && !p.busy && p.spec.Budget == spec.Budget && p.reusable() && p.spec.Session == spec.Session &&
		p.spec.Dir == spec.Dir && p.spec.Files == spec.Files && p.spec.Mode == spec.Mode && p.spec.Model == spec.Model && p.spec.Effort == spec.Effort
}

// reusable reports whether the process may serve a turn, beside what it has served.
func (p *Process) reusable() bool { return p.fresh || p.spec.Budget == 0 }

func (p *Process) attach(r *run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn, p.fresh = r, false
}

func (p *Process) detach(r *run) {
	p.mu.Lock()
	p.turn = nil
	p.mu.Unlock()
	close(r.done)
}

type object map[string]any

func (p *Process) ask(id, text string, images []Image) {
	if len(text) > 0 && text[0] == '/' {
		text = " " + text // else the CLI takes it for a command of its own; it trims the space again
	}
	if len(images) == 0 {
		p.prompt(id, text)
		return
	}
	blocks := make([]object, 0, len(images)+1)
	for _, i := range images {
		blocks = append(blocks, i.block())
	}
	p.prompt(id, append(blocks, object{"type": "text", "text": text}))
}

// prompt sends what the user says: a text, or a list of blocks.
func (p *Process) prompt(id string, content any) {
	p.in.send(object{"type": "user", "uuid": id, "message": object{"role": "user", "content": content}})
}

func (p *Process) interrupt() {
	p.in.send(object{"type": "control_request", "request_id": uuid.NewString(), "request": object{"subtype": "interrupt"}})
}

// exitError says how the process ended.
func (p *Process) exitError() error { return &ExitError{Err: p.err, Stderr: p.stderr.String()} }

// close ends the process, and the tools that it left running: it exits by itself when its input ends, else it is told to,
// else it is killed. It takes three seconds at most; when ctx ends, less. Whoever else calls it waits for the first.
func (p *Process) close(ctx context.Context) {
	p.ending.Do(func() {
		defer close(p.closed)
		var left []relative
		if !childless(p.Pid()) {
			left = p.family()
		}
		p.in.close()
		if !p.gone(ctx, eofPatience) {
			_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails only when the process is gone
			if !p.gone(ctx, termPatience) {
				p.kill()
				p.gone(context.Background(), waitDelay)
			}
		}
		killAll(left)
		if len(left) > 0 || p.alive() || !p.alone {
			killAll(p.family())
		}
	})
	<-p.closed
}

// gone waits for the end of the process, for that long.
func (p *Process) gone(ctx context.Context, patience time.Duration) bool {
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-p.exited:
	case <-t.C:
	case <-ctx.Done():
	}
	return !p.alive()
}

// family is what the process has started and what is still there.
func (p *Process) family() []relative { return family(p.self, p.mark) }

// kill sends the process and all that it started to their end. It does not wait for it.
func (p *Process) kill() {
	left := p.family()       // before the parent dies: afterwards only the mark tells whose they were
	_ = p.cmd.Process.Kill() // fails only when the process is gone already
	killAll(left)
}

// run is one turn of a process.
type run struct {
	p     *Process
	lines chan []byte
	done  chan struct{}
	dec   decoder
	open  map[string]bool // tools that run
	asks  *asks
	stop  stopper
}
