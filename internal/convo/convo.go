// Package convo is the life of a chat as a value: which questions wait, which turn works, which messages were handed to
// its agent, what people are asked. [Decide] says what becomes of it when something happens.
//
// It knows no clock, database, agent or platform, and no text for people: what an event concerns comes with it, and what
// is to be done is returned. The rows of a chat are its [Chat] (package db loads it and stores the difference), so there
// is nothing to recover after a crash: the next event finds the value that the last one left.
package convo

import (
	"cmp"
	"slices"
	"time"
)

// Chat is what the rows of a chat say about its turns that are not over.
type Chat struct {
	Epoch    int64     // of its conversation: raised by /new
	Next     int64     // the number that the next turn gets
	Turns    []Turn    // by number
	Requests []Request // that wait for people, and decisions that no agent was told, by ID
}

// Phase is where a turn stands.
type Phase uint8

// The phases of a turn. A turn in one of the later ones is over, and leaves the [Chat].
const (
	Queued      Phase = iota + 1
	Background        // a follow-up, see [WorksOn]: its agent has not begun to tell
	Running           // claimed: an agent works for it, or is about to
	Late              // held back before it began: people decide whether it is asked
	Interrupted       // its agent is gone: people decide whether another turn goes on with it
	Done
	Failed
	Cancelled
	Recalled  // cancelled, because all its questions were recalled before it began
	Continued // interrupted, and another turn goes on with it
	Dropped   // interrupted, and nobody wants it to go on
)

// String returns the word for logs and figures.
func (p Phase) String() string {
	return [...]string{
		"", "queued", "background", "running", "late", "interrupted", "done", "failed", "cancelled", "recalled", "continued",
		"dropped",
	}[p]
}

// IsOver reports whether a turn in this phase has left the chat.
func (p Phase) IsOver() bool { return p > Interrupted }

// Stop says whether a turn is to end, and for whom.
type Stop uint8

// A person's stop counts more than a recall, after which the other questions are asked again.
const (
	NotStopped Stop = iota
	ByPerson
	ByRecall
)

// Turn is one question, or several asked together, and the run that answers it.
type Turn struct {
	ID, Epoch int64
	Phase     Phase
	Created   time.Time
	Due       time.Time // a queued turn is not claimed before; zero = it need not wait
	Attempts  int       // how often it was claimed
	Stopped   Stop
	Acted     bool  // a tool may have changed something: it never runs again without being asked for
	Continues int64 // the interrupted turn that it goes on with; 0 = none
	Follows   int64 // the turn after which its agent began to tell by itself; 0 = people have asked
	ReplyTo   string
	Asked     []Message // what its prompt holds, or will hold, by number
	Added     []Added   // handed to its agent while it works, by number
	Gone      []Message // recalled since it was asked
	Earlier   Earlier   // the turn that it goes on with
}

// Earlier is what is known of an interrupted turn with which another one goes on.
type Earlier struct {
	Left  []Message // its questions
	Gone  bool      // some of them were recalled
	Acted bool
}

// Message is a question in the History.
type Message struct {
	Seq     int64
	ReplyTo string // the platform's message that can be replied to; empty = none, as for a pressed button
	Edited  bool   // a later version of a message whose turn had begun
}

// Added is a message that was handed to the agent of a running turn.
type Added struct {
	Message
	Prompt string // its name in the agent's transcript
	Read   bool
}

// Event is something that happens to a chat.
type Event interface{ on(*machine) }

// Effect is something to be done because of an event. Those that are stored are stored in the transaction of the event.
type Effect any

// Decide returns what becomes of a chat when something happens, and what is to be done. An event that comes too late
// changes nothing and has no effect. c is not changed.
func Decide(c Chat, e Event, now time.Time) (Chat, []Effect) {
	m := machine{Chat: c.clone(), now: now}
	e.on(&m)
	m.forgetRefusals()
	return m.Chat, m.effects
}

// clone copies all that [Decide] may change.
func (c Chat) clone() Chat {
	c.Turns, c.Requests = slices.Clone(c.Turns), slices.Clone(c.Requests)
	for i := range c.Turns {
		t := &c.Turns[i]
		t.Asked, t.Added, t.Gone = slices.Clone(t.Asked), slices.Clone(t.Added), slices.Clone(t.Gone)
		t.Earlier.Left = slices.Clone(t.Earlier.Left)
	}
	return c
}

// Open returns the chat without what is over: the value that the rows will give.
func (c Chat) Open() Chat {
	c.Turns = slices.DeleteFunc(slices.Clone(c.Turns), func(t Turn) bool { return t.Phase.IsOver() })
	return c
}

// In lists the turns of the chat in one of some phases.
func (c Chat) In(phases ...Phase) (list []Turn) {
	for _, t := range c.Turns {
		if slices.Contains(phases, t.Phase) {
			list = append(list, t)
		}
	}
	return list
}

// IsUndecided reports whether people decide what becomes of a turn.
func (t Turn) IsUndecided() bool { return t.Phase == Late || t.Phase == Interrupted }

// Holds reports whether a message belongs to a turn: as a question, or as one that its agent was handed.
func (t Turn) Holds(seq int64) bool {
	_, asked := slices.BinarySearchFunc(t.Asked, seq, func(q Message, seq int64) int { return cmp.Compare(q.Seq, seq) })
	return asked || slices.ContainsFunc(t.Added, func(a Added) bool { return a.Seq == seq })
}

// Turn returns a turn of the chat; nil = it is over.
func (c Chat) Turn(id int64) *Turn {
	i, ok := slices.BinarySearchFunc(c.Turns, id, func(t Turn, id int64) int { return int(t.ID - id) })
	if !ok || c.Turns[i].Phase.IsOver() {
		return nil
	}
	return &c.Turns[i]
}
