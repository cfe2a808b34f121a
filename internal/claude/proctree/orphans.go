package proctree

import "sync"

// processTree tracks which of this program's children were started by which CLI. There is only one, since all of them
// have the same parent: this program.
type processTree struct {
	mu     sync.Mutex
	adopts bool           // orphans become children of the program
	own    map[int]*Child // the CLIs, by process ID; os/exec waits for them
	// children from before the first CLI: of the program that became this one by exec
	preexisting map[identity]bool
	orphans     map[identity]suspects // the adopted processes that were alive at the last check
}

// suspects are the CLIs that may have started an orphan: those that were alive when it was first seen.
type suspects map[*Child]bool

var procs = processTree{own: map[int]*Child{}, preexisting: map[identity]bool{}, orphans: map[identity]suspects{}}

// start starts a CLI and registers it under the lock, so that it is not taken for an orphan.
func (h *processTree) start(c *Child, start func() error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := start(); err != nil {
		return err
	}
	c.self = identify(c.Pid())
	c.group = groupOf(c.cmd.Process)
	h.own[c.Pid()] = c
	return nil
}

// remove handles the end of c: orphans that no other CLI can have started are killed.
func (h *processTree) remove(c *Child) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.own, c.Pid())
	c.group.close()
	if h.adopts {
		c.leftNothing = h.reapFor(c)
		for _, g := range h.orphans {
			delete(g, c)
		}
	}
}

// killGroupOf kills the group of c. A CLI that has ended has no group: the number may have been reused.
func (h *processTree) killGroupOf(c *Child) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.own[c.Pid()] == c {
		c.group.kill()
	}
}

// killOrphansOf kills the orphans that only c, which keeps running, can have started.
func (h *processTree) killOrphansOf(c *Child) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.adopts {
		h.reapFor(c)
	}
}
