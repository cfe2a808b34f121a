package convo

import (
	"cmp"
	"slices"
)

// An agent may work on in the background when its turn has ended, and begin to tell about it by itself. What it tells
// is a turn, too: the follow-up. It has no questions of its own, it belongs to those of the turn that it follows. A
// chat has at most one, whatever its agent does for how many questions.

// WorksOn says that the agent of a turn works on in the background. The follow-up waits for what it will tell.
type WorksOn struct {
	After    Turn  // it may be over
	Recalled bool  // nothing is left of its questions, if those are not part of the chat any more
	Instead  int64 // the follow-up of other questions that makes room, if nobody reads it yet; 0 = none
}

// Wakes says that the agent of a follow-up has begun to tell.
type Wakes struct{ Turn int64 }

// Sleeps says that the agent of a follow-up has not begun to tell after all, or is gone: the follow-up waits again,
// unless nothing is left of the questions that it belongs to.
type Sleeps struct{ Turn int64 }

// Vanishes ends a follow-up that nobody reads yet, without a word.
type Vanishes struct {
	Turn  int64
	Phase Phase
}

// Follows says which follow-up was made: it runs in the session of the turn after which its agent works on.
type Follows struct{ Turn int64 }

func (t Turn) isFollowUp() bool { return t.Follows != 0 }

// isUnread reports whether it is a follow-up that no turn reads yet.
func (t Turn) isUnread() bool { return t.isFollowUp() && (t.Phase == Background || t.Phase == Queued) }

// followUp returns the follow-up that is not over, nor interrupted.
func (m *machine) followUp() *Turn {
	return m.newest(func(t *Turn) bool { return t.isFollowUp() && t.Phase <= Running })
}

func (e WorksOn) on(m *machine) {
	if e.isRecalled(m) {
		return
	}
	m.vanish(e.Instead, Done)
	if m.followUp() != nil { // it tells about these, too
		return
	}
	next := m.queue(Turn{
		Epoch: e.After.Epoch, Phase: Background, Follows: cmp.Or(e.After.Follows, e.After.ID), ReplyTo: e.After.ReplyTo,
	}).ID
	m.do(Follows{next})
	m.pass(e.Instead, next)
	if e.After.isFollowUp() {
		m.pass(e.After.ID, next)
	}
}

// isRecalled reports whether nothing is left of the questions for which the agent works.
func (e WorksOn) isRecalled(m *machine) bool {
	asked := cmp.Or(e.After.Follows, e.After.ID)
	i := slices.IndexFunc(m.Turns, func(t Turn) bool { return t.ID == asked })
	if i < 0 {
		return e.Recalled
	}
	return m.Turns[i].isRecalled()
}

// isRecalled reports whether nothing is left of the questions of a turn: they were recalled, and what was not is asked
// by another one.
func (t Turn) isRecalled() bool { return len(t.Gone) > 0 && len(t.Asked)+len(t.Added) == 0 }

// pass makes a turn need what people were asked for another one.
func (m *machine) pass(from, to int64) {
	for i := range m.Requests {
		if r := &m.Requests[i]; r.NeededBy == from {
			r.NeededBy = to
		}
	}
}

func (e Wakes) on(m *machine) {
	if t := m.Turn(e.Turn); t != nil && t.Phase == Background {
		t.Phase = Queued
	}
}

func (e Sleeps) on(m *machine) {
	if t := m.Turn(e.Turn); t != nil && t.isFollowUp() && (t.Phase == Queued || t.Phase == Running) {
		if t.Phase = Background; t.Stopped == ByRecall {
			m.vanish(t.ID, Cancelled)
		}
	}
}

func (e Vanishes) on(m *machine) { m.vanish(e.Turn, e.Phase) }

func (m *machine) vanish(id int64, as Phase) {
	if t := m.Turn(id); t != nil && t.isUnread() {
		t.Phase = as
		m.do(Ended{t.ID})
	}
}

// forsake takes a follow-up back, as nothing is left of the questions that it belongs to.
func (m *machine) forsake(t *Turn) {
	switch t.Phase {
	case Running:
		m.halt(t)
	case Interrupted:
		m.drop(t)
	default:
		m.vanish(t.ID, Cancelled)
	}
}
