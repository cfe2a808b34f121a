package approval

import (
	"sync"
	"time"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

// pending is an open approval.
type pending struct {
	approval db.Approval
	admins   bool                       // only admins may allow it
	explains bool                       // its card has the field for the reason of a refusal
	askID    string                     // the agent's ID of the request
	answer   func(claude.Decision) bool // passes the decision to the agent; nil = the agent is gone
	timers   []*time.Timer
}

// tellAgent passes a decision to the agent, and reports whether the agent can use it.
func (p pending) tellAgent(v claude.Decision) bool { return p.answer != nil && p.answer(v) }

// pendings are the open approvals.
type pendings struct {
	mu   sync.Mutex
	byID map[string]pending
}

// register adds an approval unless it is already open. start starts its timers.
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

// remove removes an approval, after which nobody can answer it.
func (ps *pendings) remove(id string) (pending, bool) {
	list := ps.takeAll(func(p pending) bool { return p.approval.ID == id })
	if len(list) == 0 {
		return pending{}, false
	}
	return list[0], true
}

// takeAll removes and returns the matching approvals.
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

// change applies change to every open approval, and reports whether it returned true for any.
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

// hasAgent reports whether an agent is waiting for the decision.
func (ps *pendings) hasAgent(id string) bool {
	p, _ := ps.get(id)
	return p.answer != nil
}

// turnHasAgent reports whether the agent of a turn is waiting for a decision.
func (ps *pendings) turnHasAgent(turn int64) bool { return len(ps.forTurn(turn)) > 0 }

// forTurn are the approvals that the agent of a turn waits for.
func (ps *pendings) forTurn(turn int64) (list []db.Approval) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, p := range ps.byID {
		if p.approval.NeededBy == turn && p.answer != nil {
			list = append(list, p.approval)
		}
	}
	return list
}

// withoutAgent are the approvals of a chat that no agent is waiting for.
func (ps *pendings) withoutAgent(key chat.Key) (list []db.Approval) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, p := range ps.byID {
		if p.approval.Key == key && p.answer == nil {
			list = append(list, p.approval)
		}
	}
	return list
}
