// Package proctree starts CLIs and tracks the processes that they start. It finds these in the process table, by a mark
// in their environment, and by adopting orphans, and kills them when their CLI has ended. That needs Linux; Windows has
// job objects for it, and on other systems only the CLIs' own process groups are killed. It does not handle the output
// of the CLIs.
package proctree

import (
	"context"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/uuid"

	"magpie/internal/claude/wall"
)

// Child is a CLI that this program has started, with all its descendants.
type Child struct {
	cmd         *exec.Cmd
	mark        string        // in its environment, which its descendants inherit
	self        identity      // its entry in the process table
	group       group         // what the system can kill at once
	exited      chan struct{} // closed when it has ended and its output was read
	err         error         // how it ended; set before exited is closed
	inputSent   atomic.Bool   // it got input
	wall        *wall.Plan    // nil = it sees all files of its user
	leftNothing bool          // it has ended without leaving possible descendants; set before exited is closed
}

// markName is the environment variable that marks our processes and their descendants. Its value is the instance, the
// session and a unique ID, with slashes between them.
const markName = "MAGPIE_PROCESS"

// New prepares a CLI with this session; empty = none. It carries the mark of the instance, by which [Sweep] finds it,
// and of the session, by which [Strays] does.
func New(cmd *exec.Cmd, instance, session string) *Child {
	mark := markName + "=" + instance + "/" + session + "/" + uuid.NewString()
	return &Child{cmd: cmd, mark: mark, exited: make(chan struct{})}
}

// Start starts it with this environment, behind that wall; nil = none. It returns when the CLI itself runs.
func (c *Child) Start(env []string, behind *wall.Plan) error {
	c.cmd.Env, c.wall = append(env, c.mark), behind
	if behind == nil {
		return procs.start(c, c.cmd.Start)
	}
	gate, err := behind.Apply(c.cmd)
	if err != nil {
		return err
	}
	if err := procs.start(c, gate.Start); err != nil {
		gate.Close()
		return err
	}
	if err := gate.Open(); err != nil {
		_ = c.cmd.Process.Kill() // it may have ended by itself
		c.Wait()
		return err
	}
	return nil
}

// WallHolds reports whether its wall, if it has one, still hides all it is to hide; see [wall.Plan.Holds].
func (c *Child) WallHolds() bool { return c.wall == nil || c.wall.Holds() }

// Wait waits for its end. It must be called once; the caller calls Close afterwards.
func (c *Child) Wait() {
	c.err = c.cmd.Wait()
	procs.remove(c)
}

// Close records that it has ended and that its output was read.
func (c *Child) Close() { close(c.exited) }

// Exited is closed by Close.
func (c *Child) Exited() <-chan struct{} { return c.exited }

// Err returns how it ended, after Exited is closed.
func (c *Child) Err() error { return c.err }

// LeftNothing reports, after Exited is closed, that it left no process behind that it may have started.
func (c *Child) LeftNothing() bool { return c.leftNothing }

// Pid is the process id.
func (c *Child) Pid() int { return c.cmd.Process.Pid }

// Session is the session that it is in, as a process id; 0 if it has ended.
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

// WaitGone waits for its end, at most that long, and reports whether it has ended.
func (c *Child) WaitGone(ctx context.Context, patience time.Duration) bool {
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-c.exited:
	case <-t.C:
	case <-ctx.Done():
	}
	return !c.Alive()
}

// Childless reports whether it certainly has no children.
func (c *Child) Childless() bool { return childless(c.Pid()) }

// Descendants lists the processes that it has started and that still exist.
func (c *Child) Descendants() []Descendant { return descendantsOf(c.self, c.mark) }

// Signal sends it a signal, which fails only if it has ended.
func (c *Child) Signal(s syscall.Signal) { _ = sendSignal(c.cmd.Process, s) }

// Kill kills it and its descendants, without waiting for their end.
func (c *Child) Kill() {
	left := c.Descendants()  // before the parent dies: afterwards only the mark identifies them
	_ = c.cmd.Process.Kill() // fails only if it has ended already
	Kill(left)
	procs.killGroupOf(c)
}

// SetInputSent records that the CLI gets input: before that, it starts nothing that could outlive it.
func (c *Child) SetInputSent() { c.inputSent.Store(true) }

// KillOrphans kills the orphans that only this CLI, which keeps running, can have started.
func (c *Child) KillOrphans() { procs.killOrphansOf(c) }
