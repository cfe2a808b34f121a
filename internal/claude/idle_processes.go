package claude

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// idleProcesses keeps the processes of chats between their turns, and ends them when their time is over or others need
// their slots. Each chat is an owner with at most one process.
type idleProcesses struct {
	keepAlive time.Duration // how long a process waits for its chat's next message; 0 = not at all
	ahead     time.Duration // how long one that was started ahead of a turn waits for it
	unasked   time.Duration // how long a process may work unasked
	processes *processes
	tasks     sync.WaitGroup // processes that are ending

	mu       sync.Mutex // locked before that of processes
	list     idleList
	ending   map[string]*Process // by owner
	turns    turnCounts
	starting map[string]chan struct{} // closed when a process has been started ahead of its owner's turn, by owner
	closed   bool
}

func newIdleProcesses(c Config, keepAlive time.Duration, ps *processes) *idleProcesses {
	return &idleProcesses{
		keepAlive: keepAlive, ahead: cmp.Or(c.Ahead, aheadTime), unasked: c.BackgroundLimit.Duration, processes: ps,
		ending: map[string]*Process{}, turns: turnCounts{}, starting: map[string]chan struct{}{},
	}
}

// stats are the numbers of processes at one moment.
func (ip *idleProcesses) stats() PoolStats {
	ip.mu.Lock()
	defer ip.mu.Unlock()
	s := ip.processes.stats()
	s.Idle = len(ip.list)
	return s
}

// hasSession reports whether owner has an idle process that has served a turn of this session.
func (ip *idleProcesses) hasSession(owner, session string) bool {
	ip.mu.Lock()
	defer ip.mu.Unlock()
	i := ip.list.indexOf(owner)
	return i >= 0 && ip.list[i].p.spec.Session == session && ip.list[i].p.alive() && !ip.list[i].p.session.fresh
}

// holds reports whether owner has a turn or a process.
func (ip *idleProcesses) holds(owner string) bool {
	ip.mu.Lock()
	defer ip.mu.Unlock()
	return ip.turns[owner] > 0 || ip.starting[owner] != nil || ip.list.indexOf(owner) >= 0
}

// prolong has owner's process wait again if it has not served a turn yet. It reports whether owner has a turn or a
// process.
func (ip *idleProcesses) prolong(owner string) bool {
	ip.mu.Lock()
	defer ip.mu.Unlock()
	i := ip.list.indexOf(owner)
	if i >= 0 && ip.list[i].p.session.fresh {
		ip.list[i].timer.Reset(ip.list[i].wait)
	}
	return i >= 0 || ip.turns[owner] > 0 || ip.starting[owner] != nil
}

// noteActivity records activity in owner's chat, which makes its process one of the last to be ended for others.
func (ip *idleProcesses) noteActivity(owner string, now time.Time) {
	ip.mu.Lock()
	defer ip.mu.Unlock()
	if i := ip.list.indexOf(owner); i >= 0 {
		ip.list[i].p.lastActive = now
	}
}

// reuse counts a new running turn and returns owner's idle process, if it fits. unfit are owner's processes that do not
// fit or are ending: they must have ended before another one starts. reuse waits for a process that is being started
// ahead. The caller calls turns.remove when the turn has no process any more.
func (ip *idleProcesses) reuse(ctx context.Context, owner string, spec Spec) (p *Process, unfit []*Process, err error) {
	ip.mu.Lock()
	defer ip.mu.Unlock()
	for started := ip.starting[owner]; started != nil; started = ip.starting[owner] {
		ip.mu.Unlock()
		select {
		case <-started:
		case <-ctx.Done():
		}
		ip.mu.Lock()
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
	}
	if ip.closed {
		return nil, nil, ErrClosed
	}
	ip.turns[owner]++
	ip.processes.addRunning(1)
	if old := ip.ending[owner]; old != nil {
		unfit = append(unfit, old)
	}
	if i := ip.list.indexOf(owner); i >= 0 {
		own := ip.list.remove(i)
		if own.fits(spec) && own.logins == ip.processes.logins.Load() {
			return own, nil, nil
		}
		own.out.unasked.setEndReason(EndReplaced)
		unfit = append(unfit, own)
	}
	return nil, unfit, nil
}

// reuseWoken is reuse for the turn that owner's agent started by itself; nil = there is none.
func (ip *idleProcesses) reuseWoken(owner string) *Process {
	ip.mu.Lock()
	defer ip.mu.Unlock()
	i := ip.list.indexOf(owner)
	if ip.closed || i < 0 || !ip.list[i].p.alive() || !ip.list[i].p.Unasked().isWoken() {
		return nil
	}
	ip.turns[owner]++
	ip.processes.addRunning(1)
	return ip.list.remove(i)
}

// unaskedState is the unasked work of owner's idle process.
func (ip *idleProcesses) unaskedState(owner string) UnaskedState {
	ip.mu.Lock()
	defer ip.mu.Unlock()
	i := ip.list.indexOf(owner)
	switch {
	case ip.turns[owner] > 0:
		return InTurn
	case i < 0 || ip.list[i].p.out.unasked.isGone():
		return NoProcess
	case ip.list[i].p.Unasked().isWoken():
		return Woken
	case ip.list[i].p.Unasked().IsBusy():
		return Working
	}
	return Resting
}

// workOf is what owner's idle process does; nil = it has none.
func (ip *idleProcesses) workOf(owner string) *UnaskedWork {
	ip.mu.Lock()
	defer ip.mu.Unlock()
	if i := ip.list.indexOf(owner); i >= 0 && ip.list[i].p.alive() {
		return ip.list[i].p.Unasked()
	}
	return nil
}

// removeFailedTurn counts a turn that has no process because its start failed.
func (ip *idleProcesses) removeFailedTurn(owner string) {
	ip.mu.Lock()
	defer ip.mu.Unlock()
	ip.turns.remove(owner)
	ip.processes.addRunning(-1)
}

// reserve lets the caller start a process ahead of owner's next turn, unless owner has one or a turn is being answered.
// Turns wait until done is called.
func (ip *idleProcesses) reserve(owner string) (done func(), ok bool) {
	ip.mu.Lock()
	defer ip.mu.Unlock()
	if ip.closed || ip.turns[owner] > 0 || ip.starting[owner] != nil || ip.ending[owner] != nil ||
		ip.list.indexOf(owner) >= 0 {
		return nil, false
	}
	started := make(chan struct{})
	ip.starting[owner] = started
	return func() {
		ip.mu.Lock()
		defer ip.mu.Unlock()
		delete(ip.starting, owner)
		close(started)
	}, true
}

// returnProcess returns a process after a turn. It becomes idle, or ends; it also ends if it has yielded its slot and
// none is free. If memory is tight, an idle process ends as well. It reports whether the process had yielded.
func (ip *idleProcesses) returnProcess(owner string, p *Process, tight bool) (yielded bool) {
	ip.mu.Lock()
	defer ip.mu.Unlock()
	ip.turns.remove(owner)
	yielded = ip.processes.endYield(p)
	if ip.closed { // close ends the process
		ip.processes.addRunning(-1)
		return yielded
	}
	if !p.alive() || !p.reusable() || ip.keepAlive == 0 || !ip.processes.hasSlot(p) {
		p.out.unasked.setEndReason(EndMemory)
		ip.retire(owner, p) // in the background: the turn is over, and nobody needs to wait for the process
		return yielded
	}
	ip.processes.addRunning(-1)
	if left := p.out.unasked.timeLeft(ip.unasked); left > 0 {
		ip.makeIdle(owner, p, left, EndLimit)
	} else {
		ip.makeIdle(owner, p, ip.keepAlive, EndLimit)
	}
	if tight {
		ip.retireIdle(ip.list.leastUsed(time.Now()), EndMemory)
	}
	return yielded
}

// aheadTime is the default of how long a process that was started ahead of a turn waits for it.
const aheadTime = time.Minute

// adopt gives owner a process that has not served a turn yet, for that long. It returns false if owner already has one.
func (ip *idleProcesses) adopt(owner string, p *Process, wait time.Duration) bool {
	ip.mu.Lock()
	defer ip.mu.Unlock()
	if ip.closed || ip.ending[owner] != nil || ip.list.indexOf(owner) >= 0 || p.logins != ip.processes.logins.Load() {
		return false
	}
	p.lastActive = time.Now()
	ip.makeIdle(owner, p, wait, EndLimit)
	return true
}

// makeIdle makes a process idle for that long; then the process ends for that reason. The caller holds mu.
func (ip *idleProcesses) makeIdle(owner string, p *Process, wait time.Duration, why UnaskedEnd) {
	it := &idleProcess{owner: owner, p: p, wait: wait}
	it.timer = time.AfterFunc(wait, func() {
		ip.mu.Lock()
		defer ip.mu.Unlock()
		if i := slices.Index(ip.list, it); i >= 0 {
			ip.retireIdle(i, why)
		}
	})
	ip.list = append(ip.list, it)
}

// retireIdle ends the i-th idle process; why is reported if it was working unasked. The caller holds mu.
func (ip *idleProcesses) retireIdle(i int, why UnaskedEnd) (gone <-chan struct{}) {
	owner := ip.list[i].owner
	p := ip.list.remove(i)
	p.out.unasked.setEndReason(why)
	ip.processes.addRunning(1)
	return ip.retire(owner, p)
}

// retire ends a process in the background. Until it has ended it counts as running, and its owner's next one waits for
// it. The caller holds mu.
func (ip *idleProcesses) retire(owner string, p *Process) (gone <-chan struct{}) {
	ip.ending[owner] = p
	done := make(chan struct{})
	ip.tasks.Go(func() {
		defer close(done)
		ip.processes.terminate(context.Background(), p)
		ip.mu.Lock()
		defer ip.mu.Unlock()
		ip.processes.addRunning(-1)
		if ip.ending[owner] == p {
			delete(ip.ending, owner)
		}
	})
	return done
}

// evict ends the idle process that choose selects; nil = there is none. With transferSlot its slot goes to the caller.
func (ip *idleProcesses) evict(choose chooser, transferSlot bool) (gone <-chan struct{}) {
	ip.mu.Lock()
	defer ip.mu.Unlock()
	i, why := choose(ip.list)
	if i < 0 {
		return nil
	}
	if transferSlot {
		ip.processes.transferSlot(ip.list[i].p)
	}
	return ip.retireIdle(i, why)
}

// anyProcess accepts every process.
func anyProcess(*Process) bool { return true }

// drop ends owner's idle process in the background, if like accepts it. gone is closed when it has ended.
func (ip *idleProcesses) drop(owner string, why UnaskedEnd, like func(*Process) bool) (gone <-chan struct{}) {
	ip.mu.Lock()
	defer ip.mu.Unlock()
	if i := ip.list.indexOf(owner); i >= 0 && like(ip.list[i].p) {
		return ip.retireIdle(i, why)
	}
	none := make(chan struct{})
	close(none)
	return none
}

// retireAll ends all idle processes in the background.
func (ip *idleProcesses) retireAll() {
	ip.mu.Lock()
	defer ip.mu.Unlock()
	for len(ip.list) > 0 {
		ip.retireIdle(0, EndReplaced)
	}
}

// close forgets the idle processes, which [processes.close] ends, and accepts no more.
func (ip *idleProcesses) close() {
	ip.mu.Lock()
	defer ip.mu.Unlock()
	ip.closed = true
	for len(ip.list) > 0 {
		ip.list.remove(0)
	}
}

// turnCounts counts the turns of each owner that have a process or are getting one.
type turnCounts map[string]int

func (tc turnCounts) remove(owner string) {
	if tc[owner]--; tc[owner] == 0 {
		delete(tc, owner)
	}
}

// idleList are processes that wait for their chat's next message, in the order in which their last turns ended.
type idleList []*idleProcess

// idleProcess is one such process.
type idleProcess struct {
	owner string
	p     *Process
	wait  time.Duration
	timer *time.Timer // ends the process after wait
}

// indexOf is the position of owner's process; -1 = it has none.
func (l idleList) indexOf(owner string) int {
	return slices.IndexFunc(l, func(i *idleProcess) bool { return i.owner == owner })
}

// activePeriod is how long after a message the next one of the same chat is likely.
const activePeriod = 10 * time.Second

// chooser selects the process to end if another needs its slot, and why it ends. -1 = none.
type chooser func(idleList) (i int, why UnaskedEnd)

// ownOrLeastUsed selects owner's process, or else the least used one.
func ownOrLeastUsed(owner string) chooser {
	return func(l idleList) (int, UnaskedEnd) {
		if i := l.indexOf(owner); i >= 0 {
			return i, EndReplaced
		}
		return l.leastUsed(time.Now()), EndMemory
	}
}

// withoutTurn selects the process that has not served a turn yet and whose chat was active least recently.
func withoutTurn(l idleList) (int, UnaskedEnd) {
	first := -1
	for i, it := range l {
		if it.p.session.fresh && (first < 0 || it.p.lastActive.Before(l[first].p.lastActive)) {
			first = i
		}
	}
	return first, EndMemory
}

// leastUsed is the process to end if another needs its slot: one that was started ahead, otherwise the one that has
// waited longest among silent chats. If none is silent, it is the one whose chat was active least recently. A process
// with unasked work is only chosen if there is no other. -1 = there is none.
func (l idleList) leastUsed(now time.Time) int {
	if i, _ := withoutTurn(l); i >= 0 {
		return i
	}
	first, working := -1, -1
	for i, it := range l {
		switch {
		case it.p.Unasked().IsBusy():
			if working < 0 {
				working = i
			}
		case now.Sub(it.p.lastActive) >= activePeriod:
			return i
		case first < 0 || it.p.lastActive.Before(l[first].p.lastActive):
			first = i
		}
	}
	if first < 0 {
		return working
	}
	return first
}

// remove removes the i-th process, for which the caller is responsible from then on.
func (l *idleList) remove(i int) *Process {
	it := (*l)[i]
	it.timer.Stop()
	*l = slices.Delete(*l, i, i+1)
	return it.p
}
