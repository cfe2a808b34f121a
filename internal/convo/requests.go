package convo

import (
	"cmp"
	"slices"
)

// Verdict is what has become of a request.
type Verdict uint8

// The verdicts of a request. After the last two there is nothing that an agent has to be told: it may ask again.
const (
	Waiting Verdict = iota + 1 // nobody has decided
	Allowed                    // or answered
	Denied
	Expired   // nobody has decided in time
	Withdrawn // its turn ended first, or what was allowed could not take effect
)

// String returns the word for logs.
func (v Verdict) String() string {
	return [...]string{"", "waiting", "allowed", "denied", "expired", "withdrawn"}[v]
}

// Request is what people are asked by an agent. It leaves the chat when an agent was told, or need not be.
type Request struct {
	ID       string
	NeededBy int64 // the turn that waits for it, or that goes on with that turn
	Verdict  Verdict
}

// Wants is a request of the agent of a turn. If that has ended meanwhile, the request is to be withdrawn by [Settles].
type Wants struct {
	Turn int64
	ID   string
}

// Settles is a decision about a request, or its end without one.
type Settles struct {
	ID       string
	From, As Verdict
	Told     bool // its agent waits and is told as soon as this is stored; otherwise whoever goes on with it is told
}

// Tells says that an agent is about to be told a decision: each is told once.
type Tells struct{ ID string }

// Counts says that what an event says about a request is so: it is now this.
type Counts struct{ Request Request }

// MayGoOn reports whether a turn has not ended, or another one may go on with it: it still needs what people are asked.
func (c Chat) MayGoOn(id int64) bool {
	t := c.Turn(id)
	return t != nil && (!t.IsUndecided() || t.Epoch == c.Epoch)
}

func (e Wants) on(m *machine) {
	r := Request{e.ID, e.Turn, Waiting}
	i, known := slices.BinarySearchFunc(m.Requests, e.ID, func(r Request, id string) int { return cmp.Compare(r.ID, id) })
	if known {
		return
	}
	m.Requests = slices.Insert(m.Requests, i, r)
	m.do(Counts{r})
}

func (e Settles) on(m *machine) {
	i := slices.IndexFunc(m.Requests, func(r Request) bool { return r.ID == e.ID && r.Verdict == e.From })
	if i < 0 {
		return
	}
	r := &m.Requests[i]
	r.Verdict = e.As
	m.do(Counts{*r})
	if e.Told || e.As == Expired || e.As == Withdrawn {
		m.Requests = slices.Delete(m.Requests, i, i+1)
	}
}

func (e Tells) on(m *machine) {
	i := slices.IndexFunc(m.Requests, func(r Request) bool {
		return r.ID == e.ID && (r.Verdict == Allowed || r.Verdict == Denied)
	})
	if i >= 0 {
		m.do(Counts{m.Requests[i]})
		m.Requests = slices.Delete(m.Requests, i, i+1)
	}
}

// forgetRefusals drops what was refused for turns that are over: nobody has to be told.
func (m *machine) forgetRefusals() {
	m.Requests = slices.DeleteFunc(m.Requests, func(r Request) bool {
		return r.Verdict == Denied && m.Turn(r.NeededBy) == nil
	})
}
