package convo_test

import (
	"slices"
	"testing"

	. "magpie/internal/convo"
)

// request is what a test knows of a request that people are asked.
type request struct {
	decided, told int
	allowed, over bool // over: it has expired, or was withdrawn
}

// asks makes an agent, or what it does in the background, ask people something for a turn.
func (w *world) asks(turn int64, who any) {
	id := w.name("r")
	if _, alive := w.step(Wants{turn, id}); alive {
		w.live[id] = who
	}
}

// isLive reports whether somebody waits for a request.
func (w *world) isLive(id string) bool {
	return w.agent != nil && w.live[id] == any(w.agent) || w.doing != nil && w.live[id] == any(w.doing)
}

// noteRequests notes what has become of requests, and checks that each is decided once, and each decision told once.
func (w *world) noteRequests(e Event, effects []Effect) {
	for _, f := range effects {
		c, ok := f.(Counts)
		if !ok {
			continue
		}
		r := w.asked[c.Request.ID]
		if r == nil {
			r = &request{}
			w.asked[c.Request.ID] = r
		}
		switch e := e.(type) {
		case Settles:
			switch {
			case r.over:
				w.wrong("request %s is settled although it is over", e.ID)
			case e.As == Allowed || e.As == Denied:
				r.decided++
				r.allowed = e.As == Allowed
			default:
				r.over = true
			}
			if e.Told {
				r.told++
			}
		case Tells:
			r.told++
		}
		if r.decided > 1 || r.told > 1 || r.told > r.decided && !r.over {
			w.wrong("request %s was decided %d times, and told %d times", c.Request.ID, r.decided, r.told)
		}
	}
}

// presses is a decision of a person about a request. If its turn is interrupted, that goes on by it.
func (w *world) presses(id string, as Verdict) delivery {
	var goesOn delivery
	return delivery{what: func(w *world) []Event {
		goesOn = delivery{}
		i := slices.IndexFunc(w.rows.Requests, func(r Request) bool { return r.ID == id && r.Verdict == Waiting })
		list := []Event{Settles{ID: id, From: Waiting, As: as, Told: w.isLive(id)}}
		if i >= 0 && !w.isLive(id) {
			turn := w.rows.Requests[i].NeededBy
			if t := w.rows.Turn(turn); t != nil && t.Phase == Interrupted && t.Epoch == w.rows.Epoch {
				goesOn = w.decides(turn, true)
				list = append(list, goesOn.what(w)...)
			}
		}
		return list
	}, then: func(w *world) {
		if goesOn.then != nil {
			goesOn.then(w)
		}
	}}
}

// expires ends a request that nobody has decided in time. Its agent is told that.
func (w *world) expires(id string) {
	w.step(Settles{ID: id, From: Waiting, As: Expired, Told: w.isLive(id)})
	delete(w.live, id)
}

// takesOver makes an agent that goes on repeat what was asked before: it gets the decision, or waits for it.
func (w *world) takesOver(a *agent) {
	for _, r := range w.rows.Requests {
		switch {
		case r.NeededBy != a.turn || w.agent != a:
		case r.Verdict == Waiting:
			w.live[r.ID] = a
		default:
			w.step(Tells{r.ID})
		}
	}
}

// withdraw withdraws what is needed by no turn any more.
func (w *world) withdraw() {
	for _, r := range w.rows.Requests {
		if w.rows.Turn(r.NeededBy) == nil {
			w.step(Settles{ID: r.ID, From: r.Verdict, As: Withdrawn})
		}
	}
}

// checkRequests checks, at rest, that no request is left over, and no decision that was not used.
func (w *world) checkRequests() {
	if len(w.rows.Requests) > 0 {
		w.wrong("requests are left: %+v", w.rows.Requests)
	}
	for id, r := range w.asked {
		if r.decided > 0 && r.allowed && r.told == 0 && !r.over {
			w.wrong("request %s was allowed, and no agent was told", id)
		}
	}
}

// requestFaults are faults in what becomes of requests.
var requestFaults = map[string]fault{
	"a request is decided twice": func(was Chat, e Event, is *Chat, effects *[]Effect) {
		if e, ok := e.(Settles); ok && e.From == Waiting {
			for _, r := range was.Requests {
				if r.ID == e.ID && r.Verdict != Waiting {
					*effects = append(*effects, Counts{Request{r.ID, r.NeededBy, e.As}})
				}
			}
		}
	},
	"a decision is told twice": func(was Chat, e Event, is *Chat, _ *[]Effect) {
		if _, ok := e.(Tells); ok {
			is.Requests = was.Requests
		}
	},
	"a decision that was told stays": func(was Chat, e Event, is *Chat, effects *[]Effect) {
		if e, ok := e.(Settles); ok && e.Told && e.As == Allowed && len(*effects) > 0 {
			is.Requests = append(slices.Clone(is.Requests), (*effects)[0].(Counts).Request)
		}
	},
	"a decision that no agent was told is forgotten": func(_ Chat, e Event, is *Chat, _ *[]Effect) {
		if e, ok := e.(Settles); ok {
			is.Requests = slices.DeleteFunc(slices.Clone(is.Requests), func(r Request) bool { return r.ID == e.ID })
		}
	},
	"a request that has expired can be decided": func(was Chat, e Event, is *Chat, effects *[]Effect) {
		if e, ok := e.(Settles); ok && e.As == Expired {
			is.Requests = was.Requests
		}
	},
}

// What people are asked is needed until its turn has ended, or nobody can make that go on any more.
func TestWhoStillNeedsADecision(t *testing.T) {
	t.Parallel()
	for phase, want := range map[Phase]bool{
		Queued: true, Background: true, Running: true, Late: true, Interrupted: true, Done: false, Cancelled: false,
	} {
		c := Chat{Epoch: 2, Turns: []Turn{{ID: 1, Epoch: 1, Phase: phase}, {ID: 2, Epoch: 2, Phase: phase}}}.Open()
		old := phase == Queued || phase == Background || phase == Running // it ends by itself
		if c.MayGoOn(1) != old || c.MayGoOn(2) != want || c.MayGoOn(3) {
			t.Errorf("in phase %v: %v after /new, %v otherwise", phase, c.MayGoOn(1), c.MayGoOn(2))
		}
	}
}
