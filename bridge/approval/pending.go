package approval

import (
	"sync"
	"time"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

// pending is an approval that waits for people.
type pending struct {
	approval db.Approval
	admins   bool                       // only they may allow it
	ask      string                     // the agent's id of it
	answer   func(claude.Decision) bool // tells the agent; nil = it is gone, and the turn that goes on gets the decision
	timers   []*time.Timer
}

// tell tells the agent a decision, and reports whether it can use it.
func (p pending) tell(v claude.Decision) bool { return p.answer != nil && p.answer(v) }

// pendings are the approvals that wait for people.
type pendings struct {
	mu   sync.Mutex
	byID map[string]pending
}

// register adds an approval, unless it is there. start starts the timers of its time.
func (ps *pendings) register(p pending, start func() []*time.Timer) bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if _, ok := ps.byID[p.approval.ID]; ok {
		return false
	}
	p.timers = start()
	ps.byID[p.approval.ID] = p
	return true
}

func (ps *pendings) get(id string) (p pending, ok bool) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p, ok = ps.byID[id]
	return p, ok
}

// remove removes an approval; nobody else can answer it then.
func (ps *pendings) remove(id string) (pending, bool) {
	list := ps.takeAll(func(p pending) bool { return p.approval.ID == id })
	if len(list) == 0 {
		return pending{}, false
	}
	return list[0], true
}

// takeAll removes approvals.
func (ps *pendings) takeAll(which func(pending) bool) (list []pending) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for id, p := range ps.byID {
		if which(p) {
			for _, t := range p.timers {
				t.Stop()
			}
			delete(ps.byID, id)
			list = append(list, p)
		}
	}
	return list
}

// change changes what change accepts, and reports whether there was such an approval.
func (ps *pendings) change(change func(*pending) bool) (changed bool) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for id, p := range ps.byID {
		if change(&p) {
			ps.byID[id] = p
			changed = true
		}
	}
	return changed
}

// attended reports whether an agent waits for a decision.
func (ps *pendings) attended(id string) bool {
	p, _ := ps.get(id)
	return p.answer != nil
}

// attendedIn reports whether the agent of a turn waits for a decision.
func (ps *pendings) attendedIn(turn int64) bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, p := range ps.byID {
		if p.approval.NeededBy == turn && p.answer != nil {
			return true
		}
	}
	return false
}

// left are the approvals of a chat for which no agent waits.
func (ps *pendings) left(key chat.Key) (list []db.Approval) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, p := range ps.byID {
		if p.approval.Key == key && p.answer == nil {
			list = append(list, p.approval)
		}
	}
	return list
}
