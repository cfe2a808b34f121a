package proctree

import "sync"

// tree is who among this program's children is whose. There is one, since the kernel knows one parent: the program.
type tree struct {
	mu     sync.Mutex
	adopts bool           // orphans become children of the program
	own    map[int]*Child // the CLIs, by process id; os/exec waits for them
	// children that were there before the first CLI: of whatever became this program by exec
	preexisting map[identity]bool
	orphans     map[identity]suspects // the adopted that were alive at the last look
}

// suspects are the CLIs that may have started an orphan: those that lived when it was first seen.
type suspects map[*Child]bool

var procs = tree{own: map[int]*Child{}, preexisting: map[identity]bool{}, orphans: map[identity]suspects{}}

// start starts a CLI, and makes it known before anybody can take it for an orphan.
func (h *tree) start(c *Child) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := c.cmd.Start(); err != nil {
		return err
	}
	c.self = identify(c.Pid())
	h.own[c.Pid()] = c
	return nil
}

// leave takes up that c has ended: with it go the orphans that nobody else can have started.
func (h *tree) leave(c *Child) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.own, c.Pid())
	if h.adopts {
		c.alone = h.reapFor(c)
		for _, g := range h.orphans {
			delete(g, c)
		}
	}
}

// disown kills the orphans that only c, which lives on, can have started.
func (h *tree) disown(c *Child) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.adopts {
		h.reapFor(c)
	}
}
