package convo_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	. "magpie/internal/convo"
)

// fault is a mistake that somebody could make in [Decide]: it changes what that has decided.
type fault func(was Chat, e Event, is *Chat, effects *[]Effect)

// with plants a fault.
func with(f fault) decide {
	return func(was Chat, e Event, now time.Time) (Chat, []Effect) {
		is, effects := Decide(was, e, now)
		f(was, e, &is, &effects)
		return is, effects
	}
}

// turn returns the turn of a chat with this number, also one that is over.
func turn(c *Chat, id int64) *Turn {
	i := slices.IndexFunc(c.Turns, func(t Turn) bool { return t.ID == id })
	if i < 0 {
		return nil
	}
	return &c.Turns[i]
}

func without[E Effect](effects []Effect) []Effect {
	return slices.DeleteFunc(effects, func(f Effect) bool { _, ok := f.(E); return ok })
}

// onEnd is a fault in the end of a turn with this outcome.
func onEnd(when func(Ends, Turn) bool, f func(was Chat, old Turn, is *Chat)) fault {
	return func(was Chat, e Event, is *Chat, _ *[]Effect) {
		if e, ok := e.(Ends); ok {
			if old := was.Turn(e.Turn); old != nil && when(e, *old) && turn(is, e.Turn).Phase.IsOver() {
				f(was, *old, is)
			}
		}
	}
}

func answered(e Ends, _ Turn) bool    { return e.Phase == Done }
func recallStops(e Ends, t Turn) bool { return e.Phase == Cancelled && t.Stopped == ByRecall }
func forgets(was Chat, old Turn, is *Chat) { // what it has asked is asked by nobody else
	ended := *turn(is, old.ID)
	ended.Asked = old.Asked
	for _, a := range old.Added {
		ended.Asked = append(ended.Asked, a.Message)
	}
	is.Turns, is.Next = slices.Clone(was.Turns), was.Next
	*turn(is, old.ID) = ended
}

// moved are the questions of a turn that are elsewhere after its end.
func moved(old Turn, is *Chat) (to *Turn, list []Message) {
	for i := range is.Turns {
		t := &is.Turns[i]
		for _, q := range t.Asked {
			if t.ID != old.ID && slices.Contains(questions(old), q.Seq) {
				to, list = t, append(list, q)
			}
		}
	}
	return to, list
}

var faults = map[string]fault{
	"a stop is not stored": func(was Chat, e Event, is *Chat, _ *[]Effect) {
		if e, ok := e.(Stops); ok {
			for _, id := range e.Turns {
				if t := is.Turn(id); t != nil {
					t.Stopped = was.Turn(id).Stopped
				}
			}
		}
	},
	"a stop does not reach the agent": func(_ Chat, e Event, _ *Chat, effects *[]Effect) {
		if _, ok := e.(Stops); ok {
			*effects = without[Halt](*effects)
		}
	},
	"a recall does not reach the agent": func(_ Chat, e Event, _ *Chat, effects *[]Effect) {
		if _, ok := e.(Recalls); ok {
			*effects = without[Halt](*effects)
		}
	},
	"a turn that is put back forgets its stop": func(_ Chat, e Event, is *Chat, _ *[]Effect) {
		if e, ok := e.(PutBack); ok && is.Turn(e.Turn) != nil {
			is.Turn(e.Turn).Stopped = NotStopped
		}
	},
	"a recall makes light of a person's stop": func(_ Chat, e Event, is *Chat, _ *[]Effect) {
		if e, ok := e.(Recalls); ok {
			if t := is.Turn(e.Turn); t != nil && t.Phase == Running && t.Stopped != NotStopped {
				t.Stopped = ByRecall
			}
		}
	},
	"unread additions are forgotten": onEnd(answered, forgets),
	"unread additions are asked in the new conversation": onEnd(answered, func(_ Chat, old Turn, is *Chat) {
		if to, _ := moved(old, is); to != nil {
			to.Epoch = is.Epoch
		}
	}),
	"read additions are asked again": func(was Chat, e Event, is *Chat, effects *[]Effect) {
		if e, ok := e.(Ends); ok && was.Turn(e.Turn) != nil {
			c := was
			c.Turns = slices.Clone(c.Turns)
			t := turn(&c, e.Turn)
			t.Added = slices.Clone(t.Added)
			for i := range t.Added {
				t.Added[i].Read = false
			}
			*is, *effects = Decide(c, Ends{Turn: e.Turn, Phase: e.Phase, Unstopped: e.Unstopped}, time.UnixMilli(1e12))
		}
	},
	"what the agent reads is not stored": func(was Chat, e Event, is *Chat, _ *[]Effect) {
		if _, ok := e.(Reads); ok {
			*is = was
		}
	},
	"what is in the prompt stays an addition": func(was Chat, e Event, is *Chat, _ *[]Effect) {
		if _, ok := e.(Joins); ok {
			*is = was
		}
	},
	"a turn that is put back forgets additions": func(was Chat, e Event, is *Chat, _ *[]Effect) {
		if e, ok := e.(PutBack); ok && is.Turn(e.Turn) != nil {
			is.Turn(e.Turn).Asked = was.Turn(e.Turn).Asked
		}
	},
	"a turn that is put back stays claimed": func(was Chat, e Event, is *Chat, _ *[]Effect) {
		if _, ok := e.(PutBack); ok {
			*is = was
		}
	},
	"an end that comes twice counts twice": func(was Chat, e Event, is *Chat, _ *[]Effect) {
		if e, ok := e.(Ends); ok && e.Phase == Done && is.Turn(e.Turn) == nil && was.Turn(e.Turn) != nil {
			old := *was.Turn(e.Turn)
			old.ID, old.Phase = is.Next, Queued
			is.Turns, is.Next = append(is.Turns, old), is.Next+1
		}
	},
	"the newest question is asked first": func(was Chat, e Event, is *Chat, effects *[]Effect) {
		if _, ok := e.(Claims); !ok || len(*effects) == 0 {
			return
		}
		for i := len(was.Turns) - 1; i >= 0; i-- {
			if t := &was.Turns[i]; t.Phase == Queued && t.Due.IsZero() {
				*turn(is, (*effects)[0].(Claimed).Turn) = *turn(&was, (*effects)[0].(Claimed).Turn)
				turn(is, t.ID).Phase = Running
				turn(is, t.ID).Attempts++
				*effects = []Effect{Claimed{Turn: t.ID}}
				return
			}
		}
	},
	"two turns run at once": func(_ Chat, e Event, is *Chat, effects *[]Effect) {
		if a, ok := e.(Asks); ok && a.Adds == 0 && !a.Held {
			for i := range is.Turns {
				if t := &is.Turns[i]; t.Phase == Queued {
					t.Phase = Running
					*effects = append(*effects, Claimed{Turn: t.ID})
				}
			}
		}
	},
	"a turn does not wait for its time": func(was Chat, e Event, is *Chat, effects *[]Effect) {
		if _, ok := e.(Claims); ok && len(*effects) == 0 && !slices.ContainsFunc(was.Turns, func(t Turn) bool { return t.Phase == Running }) {
			for i := range is.Turns {
				if t := &is.Turns[i]; t.Phase == Queued {
					t.Phase = Running
					*effects = []Effect{Claimed{Turn: t.ID}}
					return
				}
			}
		}
	},
	"a late question is asked at once": func(_ Chat, e Event, is *Chat, _ *[]Effect) {
		if a, ok := e.(Asks); ok && a.Held {
			for i := range is.Turns {
				if is.Turns[i].Phase == Late {
					is.Turns[i].Phase = Queued
				}
			}
		}
	},
	"a question joins one of another conversation": func(was Chat, e Event, is *Chat, effects *[]Effect) {
		if a, ok := e.(Asks); ok && !a.Held && a.GoesOn == 0 {
			for _, t := range was.Turns {
				if t.Phase == Queued && t.Epoch < was.Epoch {
					*is = was.Open()
					old := turn(is, t.ID)
					old.Asked = append(slices.Clone(old.Asked), a.Message)
					*effects = []Effect{Given{old.ID, false}}
					return
				}
			}
		}
	},
	"a stopped turn takes more": func(was Chat, e Event, is *Chat, effects *[]Effect) {
		if a, ok := e.(Asks); ok && a.GoesOn == 0 && !a.Held {
			for _, t := range was.Turns {
				if t.Phase == Running && t.Stopped == ByPerson && t.Epoch == was.Epoch {
					*is = was.Open()
					old := turn(is, t.ID)
					old.Asked = append(slices.Clone(old.Asked), a.Message)
					*effects = []Effect{Given{old.ID, false}}
					return
				}
			}
		}
	},
	"a recalled question is asked": func(was Chat, e Event, is *Chat, _ *[]Effect) {
		if _, ok := e.(Recalls); ok {
			*is = was
		}
	},
	"a turn without questions runs": func(_ Chat, e Event, is *Chat, _ *[]Effect) {
		if e, ok := e.(Recalls); ok {
			if t := turn(is, e.Turn); t != nil && t.Phase == Recalled {
				t.Phase = Queued
			}
		}
	},
	"a recall ends the other questions": onEnd(recallStops, forgets),
	"a recall asks the other questions at once": func(was Chat, e Event, is *Chat, _ *[]Effect) {
		r, ok := e.(Recalls)
		if !ok || is.Turn(r.Turn) == nil || is.Turn(r.Turn).Phase != Running || is.Turn(r.Turn).Acted {
			return
		}
		t := is.Turn(r.Turn)
		if rest := t.Asked; len(rest) > 0 {
			epoch, to := t.Epoch, t.ReplyTo
			t.Asked = nil
			is.Turns = append(is.Turns, Turn{ID: is.Next, Epoch: epoch, Phase: Queued, Asked: rest, ReplyTo: to})
			is.Next++
		}
	},
	"a recall asks again what was acted upon": onEnd(recallStops, func(was Chat, old Turn, is *Chat) {
		if old.Acted && len(old.Asked) > 0 {
			turn(is, old.ID).Asked = nil
			is.Turns = append(is.Turns, Turn{ID: is.Next, Epoch: old.Epoch, Phase: Queued, Asked: old.Asked, ReplyTo: old.ReplyTo})
			is.Next++
		}
	}),
	"the use of a tool is not stored": func(was Chat, e Event, is *Chat, _ *[]Effect) {
		if _, ok := e.(Acts); ok {
			*is = was
		}
	},
	"what goes on forgets what was not read": func(was Chat, e Event, is *Chat, _ *[]Effect) {
		if a, ok := e.(Asks); ok && a.GoesOn != 0 && was.Turn(a.GoesOn) != nil {
			old := *was.Turn(a.GoesOn)
			if to, list := moved(old, is); to != nil {
				to.Asked = slices.DeleteFunc(to.Asked, func(q Message) bool { return slices.Contains(list, q) })
				turn(is, old.ID).Asked = append(turn(is, old.ID).Asked, list...)
			}
		}
	},
	"what goes on forgets what people are asked": func(was Chat, e Event, is *Chat, _ *[]Effect) {
		if a, ok := e.(Asks); ok && a.GoesOn != 0 {
			is.Requests = was.Requests
		}
	},
	"an interrupted turn outlives its conversation": func(was Chat, e Event, is *Chat, _ *[]Effect) {
		if e, ok := e.(Decides); ok && is.Turn(e.Turn) == nil && turn(is, e.Turn) != nil && turn(is, e.Turn).Epoch != is.Epoch {
			*is = was
		}
	},
	"a turn of an ended conversation is interrupted": onEnd(func(e Ends, t Turn) bool { return e.Phase == Interrupted },
		func(_ Chat, old Turn, is *Chat) { turn(is, old.ID).Phase = Interrupted }),
	"a dropped turn goes on": func(_ Chat, e Event, is *Chat, _ *[]Effect) {
		if e, ok := e.(Decides); ok && !e.GoesOn {
			if t := turn(is, e.Turn); t != nil && t.Phase == Dropped {
				t.Phase = Queued
			}
		}
	},
	"a number is used twice": func(was Chat, _ Event, is *Chat, _ *[]Effect) { is.Next = was.Next },
	"an answer replies to nothing": func(was Chat, _ Event, is *Chat, _ *[]Effect) {
		for i := range is.Turns {
			if was.Turn(is.Turns[i].ID) == nil {
				is.Turns[i].ReplyTo = ""
			}
		}
	},
}

// afterCrash are faults in [Chat.Fate]: they change what it has been told.
var afterCrash = map[string]func(Chat, int64, Remains, Phase) Phase{
	"what was acted upon runs again after a crash": func(c Chat, id int64, left Remains, is Phase) Phase {
		if is == Interrupted && left.Used {
			return Queued
		}
		return is
	},
	"a finished answer is thrown away by a crash": func(_ Chat, _ int64, left Remains, is Phase) Phase {
		if is == Done && left.Ended {
			return Interrupted
		}
		return is
	},
	"a finished answer is made again after a crash": func(_ Chat, _ int64, _ Remains, is Phase) Phase {
		if is == Done {
			return Queued
		}
		return is
	},
	"a stopped turn is interrupted by a crash": func(_ Chat, _ int64, _ Remains, is Phase) Phase {
		if is == Cancelled {
			return Interrupted
		}
		return is
	},
	"a follow-up runs again after a crash": func(c Chat, id int64, _ Remains, is Phase) Phase {
		if is == Interrupted && isFollowUp(c, id) {
			return Queued
		}
		return is
	},
	"a turn runs again for ever": func(c Chat, id int64, left Remains, is Phase) Phase {
		if t := c.Turn(id); is == Interrupted && t.Attempts >= 3 && !t.Acted && t.Epoch == c.Epoch && !left.Used {
			return Queued
		}
		return is
	},
	"a turn ends before its agent": func(_ Chat, _ int64, _ Remains, is Phase) Phase {
		if is == Interrupted || is == Queued {
			return Done
		}
		return is
	},
	"a turn that waits for people runs again": func(c Chat, id int64, left Remains, _ Phase) Phase {
		c.Requests = nil
		left.Used, left.Changed = false, false
		return c.Fate(id, left, 3)
	},
}

// Each fault is found by the properties, by the runs that a test can afford, and nothing is found without one.
func TestPlantedFaults(t *testing.T) {
	for n := range uint64(2000) {
		if found := fails(life(n), Decide, Chat.Fate, n%2 == 1); found != "" {
			t.Fatalf("life %d: %s", n, found)
		}
	}
	for name, f := range faults {
		isFound(t, name, with(f), Chat.Fate, false)
	}
	for name, f := range backgroundFaults {
		isFound(t, name, with(f), Chat.Fate, true)
	}
	for name, f := range requestFaults {
		isFound(t, name, with(f), Chat.Fate, false)
	}
	for name, f := range afterCrash {
		isFound(t, name, Decide, func(c Chat, id int64, left Remains, most int) Phase {
			return f(c, id, left, c.Fate(id, left, most))
		}, strings.Contains(name, "follow-up"))
	}
}

// life chooses what happens in a life of a chat, by its number.
func life(n uint64) func(int) int { return rand.New(rand.NewPCG(1, n)).IntN }

// shows are lives that show the faults that take long to find. When others do, -v says which.
var shows = map[string]uint64{
	"a recall asks again what was acted upon": 4371, "what the agent reads is not stored": 735, "read additions are asked again": 735,
	"the use of a tool is not stored": 412, "a decision that was told stays": 333, "a stopped turn is interrupted by a crash": 253,
}

// isFound fails if no life of a chat, whose agent may begin much in the background, shows a fault.
func isFound(t *testing.T, name string, d decide, f fate, busy bool) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		if n, known := shows[name]; known && fails(life(n), d, f, busy) != "" {
			return
		}
		for n := range uint64(30000) {
			if fails(life(n), d, f, busy) != "" {
				t.Logf("found by life %d", n)
				return
			}
		}
		t.Error("nobody notices")
	})
}

// fails runs a life of a chat, and returns what is wrong with it.
func fails(pick func(int) int, d decide, f fate, busy bool) (why string) {
	type stop struct{}
	defer func() {
		switch r := recover(); r.(type) {
		case nil, stop:
		default:
			why = fmt.Sprint(r)
		}
	}()
	w := newWorld(pick, func(s string) { why = s; panic(stop{}) }, d, nil)
	w.fate, w.busy = f, busy
	w.run()
	return ""
}
