package proctree

import (
	"fmt"
	"maps"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// AdoptOrphans makes this program the parent of the processes that its CLIs leave behind, so that they can be found
// without their parents and with a cleared environment. An orphan is killed when all CLIs that may have started it have
// ended. It must be called once, before the first CLI starts; stop ends the reaping of zombies, at the end of the
// program.
//
// From then on, a child that the program starts by other means must stay in the program's session and process group:
// that distinguishes it from an orphan, which nobody else waits for.
func AdoptOrphans() (stop func(), err error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("adopt orphans: %w", err)
	}
	procs.mu.Lock()
	procs.adopts = true
	// Earlier children belong to somebody else, for example to a container's init.
	for _, s := range procs.adoptedChildren() {
		procs.preexisting[s.identity] = true
	}
	procs.mu.Unlock()
	died := make(chan os.Signal, 1)
	signal.Notify(died, syscall.SIGCHLD)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range died {
			procs.reap()
			// Several deaths become one signal; the pause also keeps many short processes from occupying a core.
			time.Sleep(reapPause)
		}
	}()
	return func() {
		signal.Stop(died)
		close(died)
		<-done
		procs.reap()
	}, nil
}

// reapPause limits how often the process table is read when many children end at once.
const reapPause = 100 * time.Millisecond

func (h *processTree) reap() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.adoptedChildren() {
		if s.zombie {
			// it has ended, so the call does not wait
			_, _ = syscall.Wait4(s.pid, nil, syscall.WNOHANG, nil)
		}
	}
}

// adoptedChildren lists the children that this program did not start. The caller holds mu, so no CLI is about to start.
func (h *processTree) adoptedChildren() []stat {
	self, ok := readStat(os.Getpid())
	if !ok {
		return nil
	}
	var list []stat
	for _, s := range h.foreignChildren() {
		kept := s.Session == self.Session && s.group == self.group // started by other parts of the program
		if s.parent == self.pid && h.own[s.pid] == nil && !kept {
			list = append(list, s)
		}
	}
	return list
}

// foreignChildren lists processes that include all children other than CLIs.
func (h *processTree) foreignChildren() []stat {
	pids, ok := children(os.Getpid())
	if !ok {
		return processes(0)
	}
	var list []stat
	for _, pid := range pids {
		if h.own[pid] != nil {
			continue
		}
		if s, ok := readStat(pid); ok {
			list = append(list, s)
		}
	}
	return list
}

// reapFor registers the current orphans, and kills those that only c can have started, with their descendants. It
// reports whether there were none. The caller holds mu.
func (h *processTree) reapFor(c *Child) (none bool) {
	adopted := h.adoptedChildren()
	there := map[identity]suspects{}
	var doomed []stat
	for _, s := range adopted {
		if s.zombie || h.preexisting[s.identity] {
			continue
		}
		g, known := h.orphans[s.identity]
		if !known {
			g = h.suspects(s, c)
		}
		there[s.identity] = g
		// A single suspect must have started it. With several, the orphan may still belong to a running CLI.
		if len(g) == 0 || len(g) == 1 && g[c] {
			doomed = append(doomed, s)
		}
	}
	h.orphans = there
	if len(doomed) > 0 {
		Kill(descendants(processes(0), doomed, nil))
	}
	return len(adopted) == 0
}

// suspects are the CLIs that may have started a new orphan: all that are alive and got input, and c, which may just
// have ended. If the orphan has a mark, it is that CLI alone; or none, if that CLI ended long ago.
func (h *processTree) suspects(s stat, c *Child) suspects {
	g := suspects{c: true}
	for _, other := range h.own {
		if other.inputSent.Load() {
			g[other] = true
		}
	}
	mark, ok := environVariable(s.pid, markName)
	if ok {
		maps.DeleteFunc(g, func(other *Child, _ bool) bool { return other.mark != markName+"="+mark })
	} else if os.Getpid() == 1 {
		g[nil] = true // the first process of a container also gets the orphans of others
	}
	return g
}
