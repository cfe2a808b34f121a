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

// AdoptOrphans makes this program the parent of whatever its CLIs leave behind, so that it can be found without its
// parents and with its environment cleared. An orphan is killed when all CLIs that may have started it have ended.
// It is called once, before the first CLI starts; stop ends the reaping of the dead, at the end of the program.
//
// From then on, a child that the program starts by other means must stay in the program's session and process group:
// that is how it is told from an orphan, whose end nobody else waits for.
func AdoptOrphans() (stop func(), err error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("adopt orphans: %w", err)
	}
	procs.mu.Lock()
	procs.adopts = true
	for _, s := range procs.adopted() {
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

// reapPause keeps many small deaths from becoming as many looks at the machine.
const reapPause = 100 * time.Millisecond

func (h *tree) reap() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.adopted() {
		if s.zombie {
			// it has ended: the call takes its status and waits for nothing
			_, _ = syscall.Wait4(s.pid, nil, syscall.WNOHANG, nil)
		}
	}
}

// adopted lists the children that the program did not start. The caller holds mu, so no CLI is about to start.
func (h *tree) adopted() []stat {
	self, ok := readStat(os.Getpid())
	if !ok {
		return nil
	}
	var list []stat
	for _, s := range h.notOwn() {
		kept := s.Session == self.Session && s.group == self.group // started by other parts of the program
		if s.parent == self.pid && h.own[s.pid] == nil && !kept {
			list = append(list, s)
		}
	}
	return list
}

// notOwn lists processes among which all children are that are no CLIs.
func (h *tree) notOwn() []stat {
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

// reapFor takes up the orphans that are there now, and kills those that only c can have started, with all that they have
// started in turn. It reports whether there were none. The caller holds mu.
func (h *tree) reapFor(c *Child) (none bool) {
	adopted := h.adopted()
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

// suspects are the CLIs that may have started an orphan that is new: all that live, and c, which may have ended just
// now. When it tells by its mark, it is that one; or nobody, if that one ended long ago.
func (h *tree) suspects(s stat, c *Child) suspects {
	g := suspects{c: true}
	for _, other := range h.own {
		g[other] = true
	}
	mark, ok := variable(s.pid, markName)
	if ok {
		maps.DeleteFunc(g, func(other *Child, _ bool) bool { return other.mark != markName+"="+mark })
	} else if os.Getpid() == 1 {
		g[nil] = true // the first process of a container is given the orphans of others, too
	}
	return g
}
