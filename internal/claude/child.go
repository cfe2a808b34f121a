package claude

import (
	"context"
	"os/exec"
	"syscall"
	"time"

	"github.com/google/uuid"
)

// child is a CLI that the program has started, with all that it starts in turn.
type child struct {
	cmd    *exec.Cmd
	mark   string        // in its environment, and in that of all that it starts
	self   identity      // by which it is found in the table of processes
	exited chan struct{} // closed when it has ended and all it said was read
	err    error         // how it ended; set before exited is closed
	alone  bool          // it has ended, and no process was left that it may have started; set before exited is closed
}

// markName is the variable of the environment by which our processes, and all that they start, are known. Its value is
// the instance, a slash, and what no other process has.
const markName = "MAGPIE_PROCESS"

func newChild(cmd *exec.Cmd, instance string) *child {
	return &child{cmd: cmd, mark: markName + "=" + instance + "/" + uuid.NewString(), exited: make(chan struct{})}
}

// start starts it with env as its environment.
func (c *child) start(env []string) error {
	c.cmd.Env = append(env, c.mark)
	return procs.start(c)
}

// wait waits until it has ended. Whoever calls it closes exited.
func (c *child) wait() {
	c.err = c.cmd.Wait()
	procs.leave(c)
}

// Pid is the process id.
func (c *child) Pid() int { return c.cmd.Process.Pid }

func (c *child) alive() bool {
	select {
	case <-c.exited:
		return false
	default:
		return true
	}
}

// gone waits for its end, for that long.
func (c *child) gone(ctx context.Context, patience time.Duration) bool {
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-c.exited:
	case <-t.C:
	case <-ctx.Done():
	}
	return !c.alive()
}

// family is what it has started and what is still there.
func (c *child) family() []relative { return family(c.self, c.mark) }

// signal tells it something; that fails only when it is gone.
func (c *child) signal(s syscall.Signal) { _ = c.cmd.Process.Signal(s) }

// kill sends it and all that it started to their end. It does not wait for it.
func (c *child) kill() {
	left := c.family()       // before the parent dies: afterwards only the mark tells whose they were
	_ = c.cmd.Process.Kill() // fails only when it is gone already
	killAll(left)
}
