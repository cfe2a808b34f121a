package convo

import (
	"cmp"
	"slices"
	"time"

	"magpie/internal/chat"
)

// machine is one decision.
type machine struct {
	Chat
	now     time.Time
	effects []Effect
}

func (m *machine) do(e Effect) { m.effects = append(m.effects, e) }

// newest returns the newest turn that matches.
func (m *machine) newest(match func(*Turn) bool) *Turn {
	for i := len(m.Turns) - 1; i >= 0; i-- {
		if match(&m.Turns[i]) {
			return &m.Turns[i]
		}
	}
	return nil
}

// waiting returns the first and the last one of the turns that further questions of a conversation may join.
func (m *machine) waiting(epoch int64) (first, last *Turn) {
	for i := range m.Turns {
		t := &m.Turns[i]
		if t.Phase != Queued || t.Epoch != epoch || t.Stopped != NotStopped || t.isFollowUp() || !t.Due.IsZero() {
			continue
		}
		if first == nil || t.isBefore(first) {
			first = t
		}
		if last == nil || last.isBefore(t) {
			last = t
		}
	}
	return first, last
}

// undecided returns a turn that people can make go on: not in another conversation.
func (m *machine) undecided(id int64) *Turn {
	if t := m.Turn(id); t != nil && t.IsUndecided() && t.Epoch == m.Epoch {
		return t
	}
	return nil
}

// running returns a turn for which an agent works, or has worked when its bridge was killed.
func (m *machine) running(id int64) *Turn {
	if t := m.Turn(id); t != nil && t.Phase == Running {
		return t
	}
	return nil
}

// queue adds a turn.
func (m *machine) queue(t Turn) *Turn {
	t.ID, t.Created = m.Next, m.now
	m.Next++
	m.Turns = append(m.Turns, t)
	return &m.Turns[len(m.Turns)-1]
}

func bySeq(a, b Message) int { return cmp.Compare(a.Seq, b.Seq) }

// ask makes messages questions of a turn.
func (t *Turn) ask(list ...Message) {
	t.Asked = append(t.Asked, list...)
	slices.SortFunc(t.Asked, bySeq)
}

// fold makes what was handed to the agent of a turn, as far as it matches, part of its questions.
func (t *Turn) fold(match func(Added) bool) {
	t.ask(t.take(match)...)
}

// take takes what was handed to the agent of a turn, as far as it matches, out of the turn.
func (t *Turn) take(match func(Added) bool) (list []Message) {
	t.Added = slices.DeleteFunc(t.Added, func(a Added) bool {
		if match(a) {
			list = append(list, a.Message)
			return true
		}
		return false
	})
	return list
}

func unread(a Added) bool { return !a.Read }
func all(Added) bool      { return true }

// replyTo makes a turn that has not begun reply to the newest message that can be replied to: its card may already
// exist afterwards.
func (t *Turn) replyTo(to string) {
	if t.Attempts == 0 {
		t.ReplyTo = to
	}
}

func (e Asks) on(m *machine) {
	if t := m.Turn(e.Adds); t != nil && t.Phase == Running && t.Stopped == NotStopped && t.Epoch == m.Epoch && !t.isFollowUp() {
		t.Added = append(t.Added, Added{Message: e.Message, Prompt: e.Prompt})
		m.do(Given{t.ID, true})
		return
	}
	var earlier Turn
	if t := m.undecided(e.GoesOn); t != nil {
		m.goOn(t)
		earlier = *t
	}
	t := m.turnFor(e)
	t.ask(e.Message)
	t.ask(e.With...)
	if earlier.Phase == Continued {
		m.inherit(t, earlier)
	}
	if earlier.Phase == Continued && e.Press {
		t.ReplyTo = cmp.Or(t.ReplyTo, earlier.ReplyTo)
	} else {
		t.replyTo(e.ReplyTo)
	}
	m.do(Given{t.ID, false})
}

// areApart reports whether messages are not answered together: a turn is answered at one door, and requests of programs have an
// answer each.
func areApart(a, b string) bool {
	return chat.ChannelOf(a) != chat.ChannelOf(b) || chat.IsRequest(a) || chat.IsRequest(b)
}

// turnFor returns the turn that answers a question: one that waits, or a new one.
func (m *machine) turnFor(e Asks) *Turn {
	if !e.Held {
		if _, last := m.waiting(m.Epoch); last != nil && !areApart(last.ReplyTo, e.ReplyTo) {
			return last
		}
		return m.queue(Turn{Epoch: m.Epoch, Phase: Queued})
	}
	// An edited question waits in a turn of its own: the offer to answer it is about that question only.
	t := m.newest(func(t *Turn) bool {
		return t.Phase == Late && t.Epoch == m.Epoch && !e.Message.Edited && m.now.Sub(t.Created) <= together &&
			!slices.ContainsFunc(t.Asked, func(q Message) bool { return q.Edited })
	})
	if t == nil {
		t = m.queue(Turn{Epoch: m.Epoch, Phase: Late})
		m.do(Offer{t.ID})
	}
	return t
}

// goOn takes note that an undecided turn is to go on. One that has never begun is simply queued; it draws its card
// itself.
func (m *machine) goOn(t *Turn) {
	if t.Phase == Late {
		t.Phase = Queued
		m.do(Unshow{t.ID})
		return
	}
	m.settle(t, Continued)
}

// inherit makes a turn go on with an interrupted one: with what its agent had not read, and with what people decide.
func (m *machine) inherit(t *Turn, earlier Turn) {
	if earlier.ID > t.Continues {
		t.Continues, t.Earlier = earlier.ID, earlier.asEarlier()
	}
	i := slices.IndexFunc(m.Turns, func(t Turn) bool { return t.ID == earlier.ID })
	t.ask(m.Turns[i].take(unread)...)
	m.Turns[i].fold(all)
	m.pass(earlier.ID, t.ID)
}

func (Begins) on(m *machine) { m.Epoch++ }

// settle ends a turn without an agent.
func (m *machine) settle(t *Turn, as Phase) {
	was := t.Phase
	t.Phase = as
	m.do(Settled{*t, was, as})
}

// drop takes note that nobody wants an undecided turn to go on.
func (m *machine) drop(t *Turn) {
	t.fold(all)
	m.settle(t, Dropped)
}

func (e Decides) on(m *machine) {
	t := m.Turn(e.Turn)
	switch {
	case t == nil || !t.IsUndecided():
	case !e.GoesOn:
		m.drop(t)
	case t.Phase == Late && t.Epoch == m.Epoch:
		m.goOn(t)
	}
}

// asEarlier is what a turn that goes on with t has to know of it.
func (t Turn) asEarlier() Earlier {
	e := Earlier{Left: slices.Clone(t.Asked), Gone: len(t.Gone) > 0, Acted: t.Acted}
	for _, a := range t.Added {
		if a.Read {
			e.Left = append(e.Left, a.Message)
		}
	}
	slices.SortFunc(e.Left, bySeq)
	return e
}

func (Claims) on(m *machine) {
	for i := range m.Turns {
		if m.Turns[i].Phase == Running {
			return
		}
	}
	var next *Turn
	for i := range m.Turns {
		if t := &m.Turns[i]; t.Phase == Queued && !t.Due.After(m.now) && (next == nil || t.isBefore(next)) {
			next = t
		}
	}
	if next == nil {
		return
	}
	next.Phase, next.Due = Running, time.Time{}
	next.Attempts++
	m.do(Claimed{next.ID, len(next.Asked)})
}

// isBefore reports whether a turn has its turn before another one: that of an earlier conversation, what an agent has
// begun to tell, the older question. The numbers of turns do not tell, as questions move to others.
func (t *Turn) isBefore(other *Turn) bool {
	first := func(t *Turn) int64 {
		if len(t.Asked) == 0 {
			return 0
		}
		return t.Asked[0].Seq
	}
	return cmp.Or(cmp.Compare(t.Epoch, other.Epoch), cmp.Compare(first(t), first(other))) < 0
}

func (e PutBack) on(m *machine) {
	t := m.Turn(e.Turn)
	if t == nil || t.Phase != Running {
		return
	}
	t.Phase = Queued
	t.fold(all)
	if !e.Until.IsZero() && t.Stopped == NotStopped { // attempts are counted because of crashes, which did not happen
		t.Attempts, t.Due = 1, e.Until
	}
	m.do(Ended{t.ID})
}

func (e AskedAgain) on(m *machine) {
	t := e.Turn
	if t.Phase != Failed || t.Acted || t.Stopped != NotStopped || t.Epoch != m.Epoch || len(t.Asked) == 0 {
		return
	}
	t.Phase, t.Due = Queued, e.Until
	if t.Due.IsZero() {
		t.Due = atOnce
	}
	i, _ := slices.BinarySearchFunc(m.Turns, t.ID, func(t Turn, id int64) int { return cmp.Compare(t.ID, id) })
	m.Turns = slices.Insert(m.Turns, i, t)
	m.do(Ended{t.ID})
}

// atOnce is the time of a turn whose wait is over: nothing joins it, as its card already tells about it.
var atOnce = time.UnixMilli(1).UTC()

func (Due) on(m *machine) {
	for i := range m.Turns {
		if t := &m.Turns[i]; t.Phase == Queued && !t.Due.IsZero() {
			t.Due = atOnce
		}
	}
}

func (e Stops) on(m *machine) {
	for _, id := range e.Turns {
		if t := m.Turn(id); t != nil && !t.IsUndecided() {
			t.Stopped, t.Due = ByPerson, time.Time{}
			m.do(Halt{t.ID})
		}
	}
}

func (e Reads) on(m *machine) {
	if t := m.running(e.Turn); t != nil {
		t.read(e.Prompts)
	}
}

func (t *Turn) read(prompts []string) {
	for i := range t.Added {
		if slices.Contains(prompts, t.Added[i].Prompt) {
			t.Added[i].Read = true
		}
	}
}

func (e Joins) on(m *machine) {
	if t := m.running(e.Turn); t != nil {
		t.fold(func(a Added) bool { return slices.Contains(e.Prompts, a.Prompt) })
	}
}

func (e Acts) on(m *machine) {
	if t := m.running(e.Turn); t != nil {
		t.Acted = e.Acted
	}
}

func (e Ends) on(m *machine) {
	t := m.Turn(e.Turn)
	switch {
	case t == nil || t.Phase != Running && t.Phase != Background:
		return
	case e.Unstopped && t.Stopped != NotStopped:
		m.do(Refused{t.ID})
		return
	}
	t.read(e.Read)
	if t.Phase = e.Phase; t.Phase == Interrupted && t.Epoch != m.Epoch { // nobody can make it go on
		t.Phase = Cancelled
	}
	m.do(Ended{t.ID})
	old := *t
	switch {
	case t.Phase == Interrupted: // whoever makes it go on gets the rest
	case t.Phase != Cancelled:
		m.again(t.take(unread), old, 0)
	case t.Stopped == ByRecall:
		m.askRest(t)
	}
	if t := m.at(old.ID); t.Phase.IsOver() {
		t.fold(all)
		if f := m.followUp(); f != nil && f.Follows == t.ID && t.isRecalled() {
			m.forsake(f)
		}
	}
}

// at returns a turn of the decision, also one that is over now.
func (m *machine) at(id int64) *Turn {
	return &m.Turns[slices.IndexFunc(m.Turns, func(t Turn) bool { return t.ID == id })]
}

// askRest asks again what a turn has asked that was stopped because one of its questions was recalled, or one of those
// that it goes on with. What its agent may have acted upon is not: doing it again could do harm.
func (m *machine) askRest(t *Turn) {
	old := *t
	switch {
	case old.Acted:
		m.again(t.take(unread), old, 0)
	case !old.Earlier.Gone:
		m.again(t.takeAll(), old, old.Continues)
	case old.Earlier.Acted:
		m.again(t.takeAll(), old, 0)
	default:
		m.again(slices.Concat(old.Earlier.Left, t.takeAll()), old, 0)
	}
}

// takeAll takes all questions out of a turn.
func (t *Turn) takeAll() []Message {
	t.fold(all)
	list := t.Asked
	t.Asked = nil
	return list
}

// again asks questions of a turn that has ended in the first one that waits, or in a new one: they are older than what
// waits.
func (m *machine) again(list []Message, old Turn, continues int64) {
	if len(list) == 0 {
		return
	}
	t, _ := m.waiting(old.Epoch)
	if t == nil || areApart(t.ReplyTo, old.ReplyTo) {
		t = m.queue(Turn{Epoch: old.Epoch, Phase: Queued})
	}
	t.ask(list...)
	to := old.ReplyTo
	for _, q := range t.Asked {
		to = cmp.Or(q.ReplyTo, to)
	}
	t.replyTo(to)
	if continues > t.Continues {
		t.Continues, t.Earlier = continues, old.Earlier
	}
}

func (e Recalls) on(m *machine) {
	t := m.Turn(e.Turn)
	if t == nil || !t.lose(e.Seq) {
		return
	}
	switch left := len(t.Asked) + len(t.Added); {
	case t.Phase == Running:
		m.halt(t)
	case left > 0:
	case t.Phase == Interrupted:
		m.settle(t, Dropped)
	default:
		m.settle(t, Recalled)
	}
}

// lose takes a question out of a turn.
func (t *Turn) lose(seq int64) bool {
	gone := t.take(func(a Added) bool { return a.Seq == seq })
	t.Asked = slices.DeleteFunc(t.Asked, func(q Message) bool {
		if q.Seq == seq {
			gone = append(gone, q)
		}
		return q.Seq == seq
	})
	t.Gone = append(t.Gone, gone...)
	slices.SortFunc(t.Gone, bySeq)
	return len(gone) > 0
}

// halt stops a running turn because of a recall.
func (m *machine) halt(t *Turn) {
	if t.Stopped == NotStopped {
		t.Stopped = ByRecall
	}
	m.do(Halt{t.ID})
}

func (e Loses) on(m *machine) {
	t := m.Turn(e.Turn)
	switch {
	case t == nil:
		return
	case t.isFollowUp():
		m.forsake(t)
		return
	case t.Continues == 0:
		return
	}
	if e.Seq != 0 {
		t.Earlier.Gone = true
		t.Earlier.Left = slices.DeleteFunc(t.Earlier.Left, func(q Message) bool { return q.Seq == e.Seq })
	}
	if t.Phase == Running {
		m.halt(t)
	} else if e.Seq == 0 || len(t.Earlier.Left) == 0 {
		t.Continues, t.Earlier = 0, Earlier{}
	}
}
