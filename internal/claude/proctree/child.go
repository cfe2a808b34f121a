// Package proctree starts the CLIs and knows what they have started: it finds it by the table of processes, by a mark in
// its environment, and by adopting what loses its parents, and kills it when its CLI has ended. It needs Linux for that;
// elsewhere it knows the CLIs alone. What the CLIs say does not belong here.
package proctree

import (
	"context"
	"os/exec"
	"syscall"
	"time"

	"github.com/google/uuid"
)

// Child is a CLI that the program has started, with all that it starts in turn.
type Child struct {
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

// New is a CLI that is still to be started. It carries the mark of the instance, by which [Sweep] finds it.
func New(cmd *exec.Cmd, instance string) *Child {
	return &Child{cmd: cmd, mark: markName + "=" + instance + "/" + uuid.NewString(), exited: make(chan struct{})}
}

// Start starts it with env as its environment.
func (c *Child) Start(env []string) error {
	c.cmd.Env = append(env, c.mark)
	return procs.start(c)
}

// Wait waits until it has ended. It is called once. Whoever calls it calls Close.
func (c *Child) Wait() {
	c.err = c.cmd.Wait()
	procs.leave(c)
}

// Close says that it has ended, and that all it said was read.
func (c *Child) Close() { close(c.exited) }

// Exited is closed by Close.
func (c *Child) Exited() <-chan struct{} { return c.exited }

// Err is how it ended, once Exited is closed.
func (c *Child) Err() error { return c.err }

// Alone reports, once Exited is closed, that no process was left that it may have started.
func (c *Child) Alone() bool { return c.alone }

// Pid is the process id.
func (c *Child) Pid() int { return c.cmd.Process.Pid }

// Session is the session that it is in, as a process id; 0 when it is gone.
func (c *Child) Session() int { return sessionOf(c.Pid()) }

// Alive reports whether Exited is still open.
func (c *Child) Alive() bool {
	select {
	case <-c.exited:
		return false
	default:
		return true
	}
}

// Gone waits for its end, for that long at most, and reports whether it has come.
func (c *Child) Gone(ctx context.Context, patience time.Duration) bool {
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-c.exited:
	case <-t.C:
	case <-ctx.Done():
	}
	return !c.Alive()
}

// Childless reports whether it surely has no children.
func (c *Child) Childless() bool { return childless(c.Pid()) }

// Descendants is what it has started and what is still there.
func (c *Child) Descendants() []Descendant { return family(c.self, c.mark) }

// Signal tells it something; that fails only when it is gone.
func (c *Child) Signal(s syscall.Signal) { _ = c.cmd.Process.Signal(s) }

// Kill sends it and all that it started to their end. It does not wait for it.
func (c *Child) Kill() {
	left := c.Descendants()  // before the parent dies: afterwards only the mark tells whose they were
	_ = c.cmd.Process.Kill() // fails only when it is gone already
	Kill(left)
}

// KillOrphans kills the orphans that only it, which lives on, can have started.
func (c *Child) KillOrphans() { procs.disown(c) }
