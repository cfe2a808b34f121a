package approval

import (
	"sync"
	"time"

	"magpie/internal/chat"
	"magpie/internal/claude"
)

// pending is what a restart forgets about an approval that people may decide about. What they are asked, and which turn
// needs it, are rows.
type pending struct {
	key      chat.Key                   // of its chat, so that nothing is read where nothing is asked
	admins   bool                       // its card says that only admins may allow it
	explains bool                       // its card has the field for the reason of a refusal
	askID    string                     // the agent's ID of the request
	answer   func(claude.Decision) bool // passes the decision to the agent; nil = the agent is gone
	timers   []*time.Timer
}

// tellAgent passes a decision to the agent, and reports whether the agent can use it.
func (p pending) tellAgent(v claude.Decision) bool { return p.answer != nil && p.answer(v) }

// pendings are the open approvals, by ID.
type pendings struct {
	mu   sync.Mutex
	byID map[string]pending
}

// register adds an approval unless it is already open. start starts its timers.
func (ps *pendings) register(id string, p pending, start func() []*time.Timer) bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if _, ok := ps.byID[id]; ok {
		return false
	}
	p.timers = start()
	ps.byID[id] = p
	return true
}

func (ps *pendings) get(id string) (p pending, ok bool) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p, ok = ps.byID[id]
	return p, ok
}

// remove removes an approval, after which nobody can answer it.
func (ps *pendings) remove(id string) (p pending, ok bool) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p, ok = ps.byID[id]
	for _, t := range p.timers {
		t.Stop()
	}
	delete(ps.byID, id)
	return p, ok
}

// change applies change to an approval if it is open, and returns what that returns.
func (ps *pendings) change(id string, change func(*pending) bool) bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p, ok := ps.byID[id]
	if !ok || !change(&p) {
		return false
	}
	ps.byID[id] = p
	return true
}

// find returns the IDs of the matching approvals.
func (ps *pendings) find(which func(pending) bool) (ids []string) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for id, p := range ps.byID {
		if which(p) {
			ids = append(ids, id)
		}
	}
	return ids
}

// isIn reports whether anything is open in a chat.
func (ps *pendings) isIn(key chat.Key) bool {
	return len(ps.find(func(p pending) bool { return p.key == key })) > 0
}

// hasAgent reports whether an agent is waiting for the decision.
func (ps *pendings) hasAgent(id string) bool {
	p, _ := ps.get(id)
	return p.answer != nil
}
