package claude

import "sync"

// household is who among this program's children is whose. There is one, since the kernel knows one parent: the program.
type household struct {
	mu      sync.Mutex
	adopts  bool                // orphans become children of the program
	own     map[int]*Process    // the CLIs, by process id; os/exec waits for them
	strange map[identity]bool   // children that were there before the first CLI: of whatever became this program by exec
	orphans map[identity]guilty // the adopted that were alive at the last look
}

// guilty are the CLIs that may have started an orphan: those that lived when it was first seen.
type guilty map[*Process]bool

var house = household{own: map[int]*Process{}, strange: map[identity]bool{}, orphans: map[identity]guilty{}}

// start starts the CLI of p, and makes it known before anybody can take it for an orphan.
func (h *household) start(p *Process) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.self = identify(p.Pid())
	h.own[p.Pid()] = p
	return nil
}

// leave takes up that p has ended: with it go the orphans that nobody else can have started.
func (h *household) leave(p *Process) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.own, p.Pid())
	if h.adopts {
		p.alone = h.settle(p)
		for _, g := range h.orphans {
			delete(g, p)
		}
	}
}

// disown kills the orphans that only p, which lives on, can have started.
func (h *household) disown(p *Process) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.adopts {
		h.settle(p)
	}
}
