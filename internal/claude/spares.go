package claude

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"magpie/internal/claude/workspace"
)

// spares are processes that are started before a chat needs them, since a start takes the CLI about a second. Each has
// its own session, folder and files, which become those of the chat that takes it. Until then it gets no input: it
// costs memory, but no request to the model.
type spares struct {
	cfg        Config
	processes  *processes
	background *backgroundTasks
	tasks      sync.WaitGroup // processes that are starting or ending
	starting   context.Context
	stop       context.CancelFunc
	added      func() // called when a process is waiting; nil = no call

	mu     sync.Mutex
	recent []Spec // requested by turns: one for each combination, most recent first
	list   []*spare
	busy   bool // one is starting
}

// spare is a process without a chat.
type spare struct {
	folder string // id of the folder with its state
	p      *Process
	timer  *time.Timer // ends it when it is old
}

// spareAge is how long a spare process waits for a chat: what it has read at its start, such as the state of the
// project's repository, becomes outdated.
const spareAge = 30 * time.Minute

// spareRetry is how long a start waits for the starts of others.
const spareRetry = 2 * time.Second

func newSpares(c Config, ps *processes, background *backgroundTasks) *spares {
	s := &spares{cfg: c, processes: ps, background: background}
	s.starting, s.stop = context.WithCancel(context.Background())
	return s
}

// requestSpare records that a chat without a process requests one with this spec.
func (s *spares) requestSpare(spec Spec) {
	if s.cfg.Spare == 0 || spec.Spare == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if spec.Budget > 0 { // a process with a limit serves one turn, which begins with its start
		s.recent = nil
		for len(s.list) > 0 {
			s.retire(0)
		}
		return
	}
	s.recent = slices.DeleteFunc(s.recent, func(r Spec) bool { return r.Alike(spec) })
	s.recent = slices.Insert(s.recent, 0, spec.WithoutChat())
	s.recent = s.recent[:min(len(s.recent), s.cfg.Spare)]
}

// fill starts the missing spare processes one by one, if there is room for them. A spare that was not requested
// recently makes room for a missing one.
func (s *spares) fill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy || s.starting.Err() != nil {
		return
	}
	missing := slices.IndexFunc(s.recent, func(r Spec) bool { return s.indexOf(r) < 0 })
	if missing < 0 {
		return
	}
	if len(s.list) >= s.cfg.Spare {
		gone := s.retire(slices.IndexFunc(s.list, func(it *spare) bool {
			return !slices.ContainsFunc(s.recent, func(r Spec) bool { return it.fits(r) })
		}))
		s.tasks.Go(func() {
			if gone != nil {
				<-gone
				s.fill()
			}
		})
		return
	}
	if !s.background.tryAcquireSpareOf(2) { // one slot stays free for the next request
		return
	}
	s.busy = true
	wanted := s.recent[missing]
	s.tasks.Go(func() {
		it := s.start(wanted)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.busy = false
		if it == nil {
			return // the next turn fails to start its process as well, and reports why
		}
		s.insert(it)
		if it.p.alive() {
			s.tasks.Go(s.fill)
		}
	})
}

// start starts a process in a slot; nil = failed.
func (s *spares) start(wanted Spec) *spare {
	it := &spare{folder: uuid.NewString()}
	a, err := s.agent(it.folder)
	if err == nil && s.cfg.Folder != nil {
		err = a.MarkSpare()
	}
	if err != nil {
		s.processes.slots.processes.Release(1)
		return nil
	}
	spec := wanted.Unbound(it.folder)
	it.p, err = s.processes.startUnasked(s.starting, spec, func() (workspace.Agent, error) { return a, nil })
	if errors.Is(err, ErrBusy) { // all cores are busy with other starts
		time.AfterFunc(spareRetry, s.fill)
	}
	if err != nil {
		s.removeFiles(it.folder, spec.Files)
		return nil
	}
	return it
}

// agent is the agent of a spare process.
func (s *spares) agent(folder string) (workspace.Agent, error) {
	if s.cfg.Folder == nil {
		return workspace.NewAgent(s.cfg, "")
	}
	return workspace.NewAgent(s.cfg, folder)
}

// removeFiles removes the files of a spare process. If that fails, the next start tries again.
func (s *spares) removeFiles(folder, files string) {
	if files != "" {
		_ = os.Remove(files) // it is empty
	}
	if a, err := s.agent(folder); err == nil && s.cfg.Folder != nil {
		_ = a.RemoveFolder()
	}
}

// insert adds a spare process. The caller holds mu.
func (s *spares) insert(it *spare) {
	it.timer = time.AfterFunc(spareAge, func() {
		s.drop(it)
		s.fill()
	})
	s.list = append(s.list, it)
	if it.p.logins != s.processes.logins.Load() {
		s.retire(len(s.list) - 1)
		return
	}
	go func() {
		<-it.p.child.Exited()
		s.drop(it)
	}()
	if s.added != nil {
		s.added()
	}
}

// drop ends a process, if it still is a spare.
func (s *spares) drop(it *spare) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retire(slices.Index(s.list, it))
}

// fits reports whether the process suits a turn with this spec.
func (it *spare) fits(spec Spec) bool {
	return it.p.alive() && it.p.spec.Alike(spec)
}

// indexOf is the position of the spare process that a turn with this spec can take; -1 = there is none. The caller
// holds mu.
func (s *spares) indexOf(spec Spec) int {
	return slices.IndexFunc(s.list, func(it *spare) bool { return it.fits(spec) })
}

// acquire removes the spare process that a turn with this spec can take; nil = there is none.
func (s *spares) acquire(spec Spec) *spare {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.indexOf(spec)
	if i < 0 {
		return nil
	}
	return s.remove(i)
}

// release returns a process that was not used.
func (s *spares) release(it *spare) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.insert(it)
}

// remove removes the i-th process, for which the caller is responsible from then on. The caller holds mu.
func (s *spares) remove(i int) *spare {
	it := s.list[i]
	it.timer.Stop()
	s.list = slices.Delete(s.list, i, i+1)
	return it
}

// evict ends a spare process, and those that have ended by themselves, for a needed process; nil = there is none. With
// transferSlot its slot goes to the caller.
func (s *spares) evict(transferSlot bool) (gone <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) == 0 {
		return nil
	}
	if transferSlot {
		s.processes.transferSlot(s.list[0].p)
	}
	return s.retire(0)
}

// retire ends the i-th process in the background, and removes its folders. The caller holds mu.
func (s *spares) retire(i int) (gone <-chan struct{}) {
	if i < 0 {
		return nil
	}
	it, done := s.remove(i), make(chan struct{})
	s.tasks.Go(func() {
		defer close(done)
		s.processes.terminate(context.Background(), it.p)
		s.removeFiles(it.folder, it.p.spec.Files)
	})
	return done
}

// retireAll ends all spare processes in the background.
func (s *spares) retireAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.list) > 0 {
		s.retire(0)
	}
}

// count is the number of spare processes.
func (s *spares) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.list)
}

// close ends all spare processes and waits for their end. No more can start.
func (s *spares) close() {
	s.stop()
	s.retireAll()
	s.tasks.Wait()
	s.retireAll()
	s.tasks.Wait()
}
