package convo_test

import (
	"cmp"
	"slices"

	. "magpie/internal/convo"
)

// background is what the process of an agent does after its turns, by the turns that have asked for it.
type background struct {
	works []int64 // what has not ended
	woken []int64 // what has ended, and the agent tells about it
}

func (b *background) roots() []int64 { return slices.Concat(b.works, b.woken) }

// followUp returns the follow-up that is not over or interrupted.
func (w *world) followUp() *Turn {
	i := slices.IndexFunc(w.rows.Turns, func(t Turn) bool { return t.Follows != 0 && t.Phase <= Running })
	if i < 0 {
		return nil
	}
	return &w.rows.Turns[i]
}

// stored returns a turn, also one that is over.
func (w *world) stored(id int64) Turn {
	if t := w.rows.Turn(id); t != nil {
		return *t
	}
	return w.over[id]
}

// forsaken reports whether all questions of a turn were recalled, or are asked by others.
func (w *world) forsaken(root int64) bool {
	t := w.stored(root)
	return len(t.Gone) > 0 && len(questions(t)) == 0
}

func (w *world) worksOn(after, instead int64) WorksOn {
	t := w.stored(after)
	return WorksOn{After: t, Recalled: w.forsaken(cmp.Or(t.Follows, t.ID)), Instead: instead}
}

// work begins something in the background.
func (w *world) work(t Turn) {
	if w.doing == nil {
		w.doing = &background{}
	}
	if root := cmp.Or(t.Follows, t.ID); !slices.Contains(w.doing.works, root) {
		w.doing.works = append(w.doing.works, root)
	}
}

// goesOn are the events of an end: what the agent does in the background goes on, or ends with it.
func (w *world) goesOn(end Ends) []Event {
	if end.Phase == Interrupted {
		w.doing = nil
	}
	if w.doing == nil || len(w.doing.roots()) == 0 {
		return []Event{end}
	}
	return []Event{end, w.worksOn(end.Turn, 0)}
}

// tells makes the agent of a claimed follow-up begin to tell, if it still does.
func (w *world) tells(a *agent, t Turn) {
	switch b := w.doing; {
	case b == nil && t.Stopped != NotStopped:
		w.end(Ends{Turn: t.ID, Phase: Cancelled})
	case b == nil:
		w.end(Ends{Turn: t.ID, Phase: Interrupted})
	case len(b.woken) == 0 && len(b.works) > 0:
		w.end(Sleeps{t.ID})
	case len(b.woken) == 0:
		w.doing = nil
		w.end(Sleeps{t.ID}, Vanishes{t.ID, Done})
	default:
		if b.woken = nil; a.halted {
			w.end(w.goesOn(Ends{Turn: t.ID, Phase: Cancelled})...)
			return
		}
		w.ask(a, nil)
	}
}

// ends ends something in the background. While the agent is in a turn, it tells about it there or afterwards.
func (w *world) ends() {
	b := w.doing
	i := w.pick(len(b.works))
	b.works, b.woken = slices.Delete(slices.Clone(b.works), i, i+1), append(b.woken, b.works[i])
}

// wakes makes the bridge find out that the agent tells something.
func (w *world) wakes() {
	f := w.followUp()
	for _, root := range w.doing.woken {
		switch {
		case f != nil && slices.Contains(w.doing.woken, f.Follows):
		case f != nil:
			w.step(w.worksOn(root, f.ID))
		default:
			w.step(w.worksOn(root, 0))
		}
		if f = w.followUp(); w.doing == nil {
			return
		}
	}
	if f == nil {
		w.rests()
		return
	}
	w.step(Wakes{f.ID})
}

// rests makes the agent know about what has ended without a word about it.
func (w *world) rests() {
	if w.doing.woken = nil; len(w.doing.works) > 0 || w.agent != nil {
		return
	}
	w.doing = nil
	f := w.followUp()
	if f == nil {
		return
	}
	if _, alive := w.step(Sleeps{f.ID}, Vanishes{f.ID, Done}); alive && w.followUp() != nil {
		w.wrong("follow-up %d waits although its agent has nothing to tell", f.ID)
	}
}

// requestInBackground is a request of something in the background.
func (w *world) requestInBackground() {
	root := w.doing.works[w.pick(len(w.doing.works))]
	if w.step(w.worksOn(root, 0)); w.doing == nil {
		return
	}
	if f := w.followUp(); f != nil {
		w.asks(f.ID, w.doing)
	}
}

// cutOff ends a follow-up whose agent is gone.
func (w *world) cutOff(t Turn) {
	if t.Phase == Queued {
		w.step(Sleeps{t.ID})
		return
	}
	last := w.last[t.ID]
	left := Remains{Ended: last != nil && last.ended} // its transcript says so
	if !left.Ended && w.pick(3) == 2 {                // it has told everything before, or has failed, and nobody has read that
		left.Ended, left.Failed = true, w.pick(2) == 1
	}
	left.Said = left.Ended
	end := Ends{Turn: t.ID, Unstopped: t.Stopped == NotStopped, Phase: w.fate(w.rows, t.ID, left, 3)}
	switch {
	case end.Phase == Queued:
		w.wrong("follow-up %d runs again, and its agent is gone", t.ID)
	case end.Phase == Interrupted && left.Ended && !w.rows.Asks(t.ID):
		w.wrong("follow-up %d is interrupted although its agent has finished", t.ID)
	case end.Phase == Done && left.Failed:
		end.Phase = Failed
	case t.Stopped != NotStopped && !left.Ended && w.pick(4) == 0: // it was stopped only now
		end.Phase, end.Unstopped = Interrupted, true
	}
	w.step(end)
}

// endForsaken ends what goes on for questions that were recalled. What goes on for others has a follow-up of its own.
func (w *world) endForsaken() {
	if t := w.claimed(); w.agent != nil && !w.agent.halted && t.Follows != 0 && w.forsaken(t.Follows) {
		w.wrong("follow-up %d goes on to tell about what was recalled", t.ID)
	}
	if w.doing == nil {
		return
	}
	w.doing.works = slices.DeleteFunc(w.doing.works, w.forsaken)
	w.doing.woken = slices.DeleteFunc(w.doing.woken, w.forsaken)
	if roots := w.doing.roots(); len(roots) == 0 {
		w.rests()
	} else if w.agent == nil || w.followUp() == nil {
		w.step(w.worksOn(roots[0], 0))
	}
}

// checkFollowUps checks what holds at any time.
func (w *world) checkFollowUps() {
	open := 0
	for _, t := range w.rows.Turns {
		if t.Follows == 0 {
			continue
		}
		if t.Phase <= Running {
			open++
		}
		if list := questions(t); len(list) > 0 {
			w.wrong("follow-up %d asks %v", t.ID, list)
		}
		if root := w.stored(t.Follows); root.ID == 0 || root.Follows != 0 || root.Epoch != t.Epoch {
			w.wrong("follow-up %d belongs to %+v", t.ID, root)
		}
	}
	if open > 1 {
		w.wrong("%d follow-ups", open)
	}
}

// checkChange checks what one decision has made of follow-ups.
func (w *world) checkChange(was Chat, events []Event, effects []Effect) {
	said := map[int64]bool{} // the follow-ups of which an event says that they end
	from := map[int64]bool{} // those that make room for another one
	for _, e := range events {
		switch e := e.(type) {
		case Ends:
			said[e.Turn] = true
		case Loses:
			said[e.Turn] = true
		case Vanishes:
			said[e.Turn] = true
		case WorksOn:
			from[e.Instead], from[e.After.ID] = true, e.After.Follows != 0
		case Wakes:
			w.woke[e.Turn] = true
			told, others := w.doing.woken, func(root int64) bool { return !w.forsaken(root) }
			if t := w.stored(e.Turn); slices.ContainsFunc(told, others) && !slices.Contains(told, t.Follows) {
				w.wrong("follow-up %d of turn %d tells about %v", t.ID, t.Follows, told)
			}
		case Sleeps:
			w.woke[e.Turn] = false
		}
	}
	next := int64(0)
	for _, f := range effects {
		switch f := f.(type) {
		case Follows:
			if next = f.Turn; w.forsaken(w.stored(next).Follows) {
				w.wrong("follow-up %d is made for what was recalled", next)
			}
		case Claimed:
			if t := w.stored(f.Turn); t.Follows != 0 && !w.woke[f.Turn] {
				w.wrong("follow-up %d is claimed before its agent tells anything", f.Turn)
			}
		case Ended:
			if t := w.stored(f.Turn); t.Follows != 0 && t.Phase.IsOver() && was.Turn(f.Turn) == nil {
				w.wrong("follow-up %d ends twice", f.Turn)
			}
		}
	}
	for _, t := range was.Turns {
		if t.Follows != 0 && t.Phase <= Running && w.rows.Turn(t.ID) == nil && !said[t.ID] && !w.forsaken(t.Follows) &&
			(!from[t.ID] || next == 0) {
			w.wrong("follow-up %d is lost", t.ID)
		}
	}
	for _, r := range was.Requests {
		i := slices.IndexFunc(w.rows.Requests, func(is Request) bool { return is.ID == r.ID })
		if next != 0 && from[r.NeededBy] && (i < 0 || w.rows.Requests[i].NeededBy != next) {
			w.wrong("request %s is not needed by follow-up %d", r.ID, next)
		}
	}
}

// checkRest checks, when no turn runs, that what goes on will be told, and nothing that was recalled.
func (w *world) checkRest() {
	f := w.followUp()
	if f != nil && f.Stopped == NotStopped && w.forsaken(f.Follows) {
		w.wrong("follow-up %d waits to tell about what was recalled", f.ID)
	}
	if f != nil || w.doing == nil {
		return
	}
	for _, root := range w.doing.roots() {
		if !w.forsaken(root) {
			w.wrong("nobody will tell what goes on for turn %d", root)
		}
	}
}

// ignores is a fault in which nothing becomes of a kind of event.
func ignores[E Event](when func(Chat, E) bool) fault {
	return func(was Chat, e Event, is *Chat, effects *[]Effect) {
		if e, ok := e.(E); ok && when(was, e) {
			*is, *effects = was, nil
		}
	}
}

// made is the follow-up that an event has made; nil = none.
func made(is *Chat, effects []Effect) *Turn {
	for _, f := range effects {
		if f, ok := f.(Follows); ok {
			return turn(is, f.Turn)
		}
	}
	return nil
}

func always[E Event](Chat, E) bool { return true }

func isFollowUp(c Chat, id int64) bool { t := c.Turn(id); return t != nil && t.Follows != 0 }

var backgroundFaults = map[string]fault{
	"what goes on is forgotten":                        ignores(always[WorksOn]),
	"what an agent tells is not read":                  ignores(always[Wakes]),
	"a follow-up that does not begin stays claimed":    ignores(func(c Chat, e Sleeps) bool { return c.Turn(e.Turn) != nil && c.Turn(e.Turn).Phase == Running }),
	"a follow-up is queued although its agent is gone": ignores(func(c Chat, e Sleeps) bool { return c.Turn(e.Turn) != nil && c.Turn(e.Turn).Phase == Queued }),
	"a follow-up outlives a stop":                      ignores(func(_ Chat, e Vanishes) bool { return e.Phase == Cancelled }),
	"a follow-up that nobody needs waits":              ignores(func(_ Chat, e Vanishes) bool { return e.Phase == Done }),
	"a follow-up outlives its questions":               ignores(func(c Chat, e Loses) bool { return isFollowUp(c, e.Turn) && c.Turn(e.Turn).Phase != Running }),
	"a running follow-up outlives its questions":       ignores(func(c Chat, e Loses) bool { return isFollowUp(c, e.Turn) && c.Turn(e.Turn).Phase == Running }),
	"a follow-up tells for other questions":            ignores(func(_ Chat, e WorksOn) bool { return e.Instead != 0 }),
	"a second follow-up is made": func(was Chat, e Event, is *Chat, effects *[]Effect) {
		if e, ok := e.(WorksOn); ok && !e.Recalled && made(is, *effects) == nil {
			is.Turns = append(is.Turns, Turn{ID: is.Next, Epoch: e.After.Epoch, Phase: Background, Follows: e.After.ID, ReplyTo: "om"})
			is.Next++
		}
	},
	"what was recalled is told about": func(was Chat, e Event, is *Chat, effects *[]Effect) {
		open := func(t Turn) bool { return t.Follows != 0 && t.Phase <= Running }
		if e, ok := e.(WorksOn); ok && made(is, *effects) == nil && !slices.ContainsFunc(was.Turns, open) {
			is.Turns = append(is.Turns, Turn{ID: is.Next, Phase: Background, Epoch: e.After.Epoch, ReplyTo: e.After.ReplyTo,
				Follows: cmp.Or(e.After.Follows, e.After.ID)})
			is.Next, *effects = is.Next+1, []Effect{Follows{is.Next}}
		}
	},
	"a follow-up begins before its agent tells anything": func(_ Chat, _ Event, is *Chat, effects *[]Effect) {
		if t := made(is, *effects); t != nil {
			t.Phase = Queued
		}
	},
	"a follow-up belongs to a follow-up": func(_ Chat, e Event, is *Chat, effects *[]Effect) {
		if t := made(is, *effects); t != nil {
			t.Follows = e.(WorksOn).After.ID
		}
	},
	"a follow-up joins another conversation": func(_ Chat, _ Event, is *Chat, effects *[]Effect) {
		if t := made(is, *effects); t != nil {
			t.Epoch = is.Epoch + 1
		}
	},
	"the next follow-up forgets what people are asked": func(was Chat, e Event, is *Chat, _ *[]Effect) {
		if _, ok := e.(WorksOn); ok {
			is.Requests = was.Requests
		}
	},
	"a follow-up is asked more": func(was Chat, e Event, is *Chat, effects *[]Effect) {
		if a, ok := e.(Asks); ok && isFollowUp(was, a.Adds) && was.Turn(a.Adds).Phase == Running {
			*is = was.Open()
			t := turn(is, a.Adds)
			t.Added, *effects = append(slices.Clone(t.Added), Added{Message: a.Message, Prompt: a.Prompt}), []Effect{Given{t.ID, true}}
		}
	},
	"a question joins a follow-up": func(was Chat, e Event, is *Chat, effects *[]Effect) {
		a, ok := e.(Asks)
		i := slices.IndexFunc(was.Turns, func(t Turn) bool { return t.Follows != 0 && t.Phase == Queued })
		if ok && i >= 0 && !a.Held && a.GoesOn == 0 {
			*is = was.Open()
			t := turn(is, was.Turns[i].ID)
			t.Asked, *effects = []Message{a.Message}, []Effect{Given{t.ID, false}}
		}
	},
}
