package convo

import "slices"

// Remains is what is left of a turn whose bridge is gone: in the transcript of its agent, and of what people have seen.
type Remains struct {
	Unknown bool // the transcript cannot be read
	Ended   bool // the agent has finished
	Failed  bool // it has finished with a failure
	Refused bool // with one that may come from what the session holds: in another one the question may be answered
	Said    bool // it has said something
	Used    bool // it has used a tool
	Changed bool // with a tool it may have changed something, or others work on for it
	Pages   int  // of the answer that people have seen; 0 = nothing
}

// Fate is what becomes of a running turn whose bridge is gone: it is queued again, has ended as its agent says (done), is
// cancelled because somebody has stopped it or its conversation is over, or is interrupted, and people decide. It is run
// again at most so often: the turn may be what makes the program crash. A follow-up is not: nobody has asked for it. 0 =
// the turn is over.
func (c Chat) Fate(id int64, left Remains, maxAttempts int) Phase {
	t := c.Turn(id)
	if t == nil {
		return 0
	}
	needs := slices.ContainsFunc(c.Requests, func(r Request) bool { return r.NeededBy == id })
	begun := left.Used || left.Pages > 0 || !left.Refused && (left.Ended || left.Said)
	// After a decision the answer is in another message, which must not become empty.
	harmless := !left.Ended && !left.Changed && !needs && left.Pages <= 1
	switch {
	case t.isFollowUp() && t.Epoch != c.Epoch: // what its agent said is out of date
		return Cancelled
	case !t.isFollowUp() && !left.Unknown && !t.Acted && (!begun || harmless) && t.Stopped == NotStopped &&
		t.Attempts < maxAttempts:
		return Queued
	case t.Stopped != NotStopped && !(left.Ended && !left.Failed):
		return Cancelled
	case left.Ended && !c.Asks(id):
		return Done
	case t.Epoch != c.Epoch:
		return Cancelled
	}
	return Interrupted // the agent may have gone on without a permission, but nobody has decided that it should
}

// Asks reports whether people are asked for a turn what its agent may do.
func (c Chat) Asks(id int64) bool {
	return slices.ContainsFunc(c.Requests, func(r Request) bool { return r.NeededBy == id && r.Verdict == Waiting })
}
