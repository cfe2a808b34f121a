package claude

import (
	"context"
	"slices"
	"time"
)

// entry is a row of the pool's table: a process, or the place of one that is about to start.
type entry struct {
	state  state
	owner  string   // the chat; empty = none
	p      *Process // nil = it has not started
	slot   bool     // it is one of [Limits.Processes]
	core   bool     // it keeps a core busy with its start
	logins int      // when it started: it may only know the login of that time

	active time.Time     // when its chat last spoke
	wait   time.Duration // how long it waits to be used
	timer  *time.Timer   // then ends it; nil = it is in use

	folder string // of a spare process: the id of the folder with its state

	preempt context.CancelCauseFunc // ends an errand; nil = it is none
	wanted  <-chan struct{}         // closed when somebody waits for the errand

	gone chan struct{} // closed when it has left the table
}

// state is what a process is there for.
type state int

const (
	starting state = iota // before anybody needs it
	spare                 // waits for a chat
	idle                  // waits for its chat's next turn
	serving               // a turn, for which it may still have to start
	yielded               // the same, without slots while people are waited for
	running               // an [Errand], or waits for the moment to do so
	ending                // the next one of its chat waits until it has ended
	ended                 // is not in the table any more
)

// isAwaited reports whether somebody waits for what the process does.
func (e *entry) isAwaited() bool {
	return e.state == serving || e.state == yielded || e.state == running
}

// givesWay reports whether it is an errand that has begun, and that nobody waits for.
func (e *entry) givesWay() bool {
	if e.state != running || !e.slot {
		return false
	}
	select {
	case <-e.wanted:
		return false
	default:
		return true
	}
}

// add puts an entry into the table, which is in the order in which the entries have come to their states. The caller
// holds mu, as for all functions of this file whose names begin with a small letter.
func (pl *Pool) add(e *entry) *entry {
	e.gone = make(chan struct{})
	pl.table = append(pl.table, e)
	return e
}

// remove takes an entry out, whose process has ended; what it held goes to those who wait.
func (pl *Pool) remove(e *entry) {
	i := slices.Index(pl.table, e)
	if i < 0 {
		return
	}
	pl.table = slices.Delete(pl.table, i, i+1)
	e.state, e.slot, e.core = ended, false, false
	close(e.gone)
	pl.settle()
}

// find returns the first entry that is like that; nil = there is none.
func (pl *Pool) find(like func(*entry) bool) *entry {
	if i := slices.IndexFunc(pl.table, like); i >= 0 {
		return pl.table[i]
	}
	return nil
}

// of is the entry of a chat, which has one at most; nil = it has none.
func (pl *Pool) of(owner string) *entry {
	return pl.find(func(e *entry) bool { return e.owner == owner })
}

// idleOf is owner's entry if its process waits for the next turn; nil = there is none.
func (pl *Pool) idleOf(owner string) *entry {
	if e := pl.of(owner); e != nil && e.state == idle {
		return e
	}
	return nil
}

// count is the number of entries that are like that.
func (pl *Pool) count(like func(*entry) bool) (n int) {
	for _, e := range pl.table {
		if like(e) {
			n++
		}
	}
	return n
}

// keep lets a process wait to be used, which is what it does in that state.
func (pl *Pool) keep(e *entry, as state, wait time.Duration) {
	i := slices.Index(pl.table, e)
	pl.table = append(slices.Delete(pl.table, i, i+1), e)
	var t *time.Timer
	t = time.AfterFunc(wait, func() {
		pl.mu.Lock()
		defer pl.mu.Unlock()
		if e.timer != t {
			return // it was used meanwhile
		}
		pl.retire(e, EndLimit)
		if as == spare {
			pl.fill()
		}
	})
	e.state, e.wait, e.timer = as, wait, t
	pl.watch()
	pl.settle()
}

// use ends the wait of a process.
func (e *entry) use(as state) {
	if e.state = as; e.timer != nil {
		e.timer.Stop()
		e.timer = nil
	}
}

// retire ends a process; why is reported if it was working unasked. It does not wait for that.
func (pl *Pool) retire(e *entry, why UnaskedEnd) { pl.retireWithin(context.Background(), e, why) }

// retireWithin does so, and kills the process when ctx is done.
func (pl *Pool) retireWithin(ctx context.Context, e *entry, why UnaskedEnd) {
	e.p.out.unasked.setEndReason(why)
	e.use(ending)
	go func() {
		pl.end(e.p, ctx)
		if e.folder != "" {
			pl.removeFiles(e.folder, e.p.spec.Files)
		}
		pl.mu.Lock()
		defer pl.mu.Unlock()
		pl.remove(e)
	}()
}

// waiter is somebody who waits for a change of the table.
type waiter struct {
	ready  func() bool     // takes what is waited for, if it is there
	placed func(place int) // of a turn that waits for its slot; see acquireTurn
	place  int             // that was told to it
	served chan error      // has room for one

	slot   bool   // it waits for the slot of a process, for which others end
	own    string // above all that of this chat, which is replaced
	beside bool   // there is memory for both until the other has ended
}

// growPeriod is how often the free memory is read while somebody waits.
const growPeriod = time.Second

// await waits until w is ready, in the order in which the waiters came. Meanwhile mu is unlocked.
func (pl *Pool) await(ctx context.Context, w *waiter) error {
	if pl.closed {
		return ErrClosed
	}
	if w.ready() {
		return nil
	}
	w.served = make(chan error, 1)
	pl.queue = append(pl.queue, w)
	pl.settle()
	w.beside = false // later there may be less
	look := time.NewTicker(growPeriod)
	defer look.Stop()
	for {
		pl.mu.Unlock()
		select {
		case err := <-w.served:
			pl.mu.Lock()
			return err
		case <-look.C:
			pl.mu.Lock()
			pl.measure()
		case <-ctx.Done():
			pl.mu.Lock()
			return pl.leave(w, context.Cause(ctx))
		}
	}
}

// leave takes a waiter out who does not want to wait any more, unless it has been served just now.
func (pl *Pool) leave(w *waiter, cause error) error {
	i := slices.Index(pl.queue, w)
	if i < 0 {
		return <-w.served
	}
	pl.queue = slices.Delete(pl.queue, i, i+1)
	w.tell(0)
	pl.settle()
	return cause
}

// turnsWaiting is how many turns wait for a slot.
func (pl *Pool) turnsWaiting() (n int) {
	for _, w := range pl.queue {
		if w.placed != nil {
			n++
		}
	}
	return n
}

// tell tells the waiter its place, if it has changed.
func (w *waiter) tell(place int) {
	if w.placed != nil && w.place != place {
		w.place = place
		w.placed(place)
	}
}

// settle follows each change: it serves those who wait, and ends other processes until there will be slots for all.
func (pl *Pool) settle() {
	for again := true; again; again = pl.makeRoomForWaiters() {
		pl.queue = slices.DeleteFunc(pl.queue, func(w *waiter) bool {
			switch {
			case pl.closed:
				w.served <- ErrClosed
			case w.ready():
				w.served <- nil
			default:
				return false
			}
			w.tell(0)
			return true
		})
	}
	place := 0
	for _, w := range pl.queue {
		if w.placed != nil {
			place++
			w.tell(place)
		}
	}
}

// makeRoomForWaiters ends a process for each waiter for whom none is ending yet, and reports whether a slot has become
// free at once.
func (pl *Pool) makeRoomForWaiters() (free bool) {
	coming := pl.count(func(e *entry) bool { return e.state == ending && e.slot })
	for _, w := range pl.queue {
		if !w.slot {
			continue
		}
		if coming--; coming >= 0 {
			continue
		}
		e := pl.makeRoom(w.own)
		if e == nil {
			break
		}
		if w.beside {
			e.slot, free = false, true
		}
	}
	return free
}

// makeRoom ends what is needed least, and returns it; nil = all others are needed.
func (pl *Pool) makeRoom(own string) *entry {
	e := pl.leastNeeded(own, time.Now())
	switch {
	case e == nil:
	case e.preempt != nil:
		e.preempt(errPreempted)
		e.state = ending
	case e.owner == own:
		pl.retire(e, EndReplaced)
	default:
		pl.retire(e, EndMemory)
	}
	return e
}

// The ranks of processes: one with a lower rank ends for others first.
const (
	rankSpare   = iota
	rankErrand  // that nobody waits for, the newest first
	rankOwn     // of the chat that needs another one
	rankFresh   // it has served no turn yet; first that of the chat that spoke least recently
	rankSilent  // first the one that has waited longest
	rankTalking // its next turn is near; first that of the chat that spoke least recently
	rankWorking // it works unasked; first the one that has waited longest
	rankNeeded  // it does not end for others
)

// talkPeriod is how long after a message the next one of the same chat is likely.
const talkPeriod = 10 * time.Second

// rank is the rank of the process if own needs another one.
func (e *entry) rank(own string, now time.Time) int {
	switch {
	case e.state == spare:
		return rankSpare
	case e.givesWay():
		return rankErrand
	case e.state != idle:
		return rankNeeded
	case e.owner == own:
		return rankOwn
	case e.p.session.fresh:
		return rankFresh
	case e.p.Unasked().IsBusy():
		return rankWorking
	case now.Sub(e.active) >= talkPeriod:
		return rankSilent
	}
	return rankTalking
}

// leastNeeded is the entry that ends first if own needs a process; nil = none does.
func (pl *Pool) leastNeeded(own string, now time.Time) (least *entry) {
	lowest := rankNeeded
	for _, e := range pl.table {
		switch r := e.rank(own, now); {
		case r < lowest, r == rankErrand && lowest == rankErrand,
			r == lowest && (r == rankFresh || r == rankTalking) && e.active.Before(least.active):
			least, lowest = e, r
		}
	}
	return least
}
