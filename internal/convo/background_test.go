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
		others := slices.ContainsFunc(b.woken, func(root int64) bool { return !w.forsaken(root) })
		if !a.halted && others && !slices.Contains(b.woken, t.Follows) {
			w.wrong("follow-up %d of turn %d tells about %v", t.ID, t.Follows, b.woken)
		}
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
	if f := w.followUp(); f != nil {
		w.step(Sleeps{f.ID}, Vanishes{f.ID, Done})
	}
}

// requestInBackground is a request of something in the background.
func (w *world) requestInBackground() {
	root := w.doing.works[w.pick(len(w.doing.works))]
	if w.step(w.worksOn(root, 0)); w.doing == nil {
		return
	}
	if f := w.followUp(); f != nil {
		w.rows.Requests = append(w.rows.Requests, Request{ID: w.name("r"), NeededBy: f.ID, Waiting: true})
	}
}

// cutOff ends a follow-up whose agent is gone.
func (w *world) cutOff(t Turn) {
	if t.Phase == Queued {
		w.step(Sleeps{t.ID})
		return
	}
	end := Ends{Turn: t.ID, Phase: Interrupted, Unstopped: true}
	switch last := w.last[t.ID]; {
	case last != nil && last.ended: // its transcript says so
		end.Phase, end.Unstopped = Done, false
	case w.pick(3) == 2: // it has told everything before, or has failed, and nobody has read that
		end.Phase = []Phase{Done, Failed}[w.pick(2)]
	case t.Stopped != NotStopped && w.pick(4) > 0: // it may have been stopped only now
		end.Phase, end.Unstopped = Cancelled, false
	}
	w.step(end)
}

// endForsaken ends what goes on for questions that were recalled. What goes on for others has a follow-up of its own.
func (w *world) endForsaken() {
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
		case Sleeps:
			w.woke[e.Turn] = false
		}
	}
	next := int64(0)
	for _, f := range effects {
		switch f := f.(type) {
		case Follows:
			next = f.Turn
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
	for i, r := range was.Requests {
		if next != 0 && from[r.NeededBy] && (i >= len(w.rows.Requests) || w.rows.Requests[i].NeededBy != next) {
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
