package convo_test

import (
	"flag"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	. "magpie/internal/convo"
)

// decide is [Decide], or Decide with a planted fault.
type decide func(Chat, Event, time.Time) (Chat, []Effect)

// fate is [Chat.Fate], or Fate with a planted fault.
type fate func(Chat, int64, Remains, int) Phase

func questions(t Turn) (list []int64) {
	for _, q := range t.Asked {
		list = append(list, q.Seq)
	}
	for _, a := range t.Added {
		list = append(list, a.Seq)
	}
	return list
}

// world is a chat with people, an agent and a bridge that may be killed at any moment.
type world struct {
	pick    func(n int) int // chooses one of n
	fail    func(string)
	decide  decide
	fate    fate
	visited map[transition]bool // nil = nobody wants to know

	// what is stored
	rows    Chat
	over    map[int64]Turn      // the turns that have left the chat
	known   map[string]bool     // events that were taken
	history map[int64]message   // by number
	papers  map[int64][]*paper  // transcripts by turn, one for each attempt that was asked
	waited  map[int64]bool      // turns that were not to be asked before a time
	asked   map[string]*request // what people were asked
	last    map[int64]*paper    // that of the last claim; nil = it has asked nothing
	woke    map[int64]bool      // follow-ups whose agent has begun to tell

	// what a crash loses, or the platform delivers again
	door  []delivery
	agent *agent
	busy  bool           // the agent begins much in the background
	doing *background    // nil = the agent does nothing after its turns
	live  map[string]any // who waits for each request: an agent, or what goes on in the background
	now   time.Time
	names int
	calm  bool // nothing fails any more
	why   []func() string
}

type message struct {
	epoch    int64
	recalled bool
	held     bool // nobody may ask it before a person wants it
	stopped  bool // a person has stopped the turn that it was part of
	decided  int  // how often a person has decided about an undecided turn with it
}

// paper is what is left of an attempt in the agent's transcript.
type paper struct {
	asked, read                []int64
	said, used, changed, ended bool
}

// delivery is something that people do; the platform repeats it until it is taken.
type delivery struct {
	id   string
	what func(*world) []Event
	then func(*world)
}

type agent struct {
	turn          int64
	inbox         []Added
	asked, halted bool
	paper         *paper
}

func newWorld(pick func(int) int, fail func(string), d decide, visited map[transition]bool) *world {
	return &world{
		pick: pick, fail: fail, decide: d, fate: Chat.Fate, visited: visited, rows: Chat{Next: 1}, over: map[int64]Turn{}, known: map[string]bool{},
		history: map[int64]message{}, papers: map[int64][]*paper{},
		last: map[int64]*paper{}, waited: map[int64]bool{}, asked: map[string]*request{}, live: map[string]any{}, woke: map[int64]bool{}, now: time.UnixMilli(1e12),
	}
}

// say notes what happens; it is put into words only when something is wrong.
func (w *world) say(what string) { w.why = append(w.why, func() string { return what }) }

func (w *world) wrong(format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	var why strings.Builder
	for _, happens := range w.why {
		why.WriteString(happens() + "\n")
	}
	w.fail(fmt.Sprintf("%s%s\nnow %+v, agent %+v", &why, what, w.rows, w.agent))
}

// crash reports whether the bridge is killed now.
func (w *world) crash() bool {
	if w.calm || w.pick(32) != 31 {
		return false
	}
	w.say("killed")
	w.agent, w.doing = nil, nil
	return true
}

// step decides about events and stores the outcome in one transaction. It returns false if the bridge is killed.
func (w *world) step(events ...Event) (effects []Effect, alive bool) {
	was, is := w.rows, w.rows
	before, watched := "", len(w.why)%8 == 0 // it takes long
	if watched {
		before = fmt.Sprintf("%+v", was)
	}
	var each [][]Effect
	for _, e := range events {
		next, more := w.decide(is, e, w.now)
		w.visit(is, e, next, more)
		is, effects, each = next, append(effects, more...), append(each, more)
	}
	if watched && fmt.Sprintf("%+v", was) != before {
		w.wrong("Decide has changed what it was given: %s, %+v", before, was)
	}
	if w.crash() {
		return nil, false
	}
	if len(effects) > 0 {
		w.why = append(w.why, func() (text string) {
			for _, e := range events {
				text += fmt.Sprintf("%T%+v ", e, e)
			}
			return fmt.Sprintf("%s-> %+v", text, effects)
		})
	}
	for _, f := range effects {
		if c, ok := f.(Claimed); ok && was.Turn(c.Turn).Due.After(w.now) {
			w.wrong("turn %d is claimed before its time", c.Turn)
		}
	}
	for _, t := range is.Turns {
		if t.Phase.IsOver() {
			w.over[t.ID] = t
		}
	}
	w.rows = is.Open()
	for _, t := range is.Turns {
		if old := was.Turn(t.ID); t.Phase == Running && (old == nil || old.Phase != Running) {
			delete(w.last, t.ID)
		}
		if !t.Due.IsZero() {
			w.waited[t.ID] = true
		}
	}
	w.checkRows()
	for i, e := range events {
		w.noteRequests(e, each[i])
	}
	w.checkChange(was, events, effects)
	if w.crash() {
		return effects, false
	}
	for _, f := range effects {
		w.carryOut(f)
		if w.crash() {
			return effects, false
		}
	}
	return effects, true
}

// checkRows checks what holds at any time.
func (w *world) checkRows() {
	if again := w.rows.Open(); !reflect.DeepEqual(again, w.rows) {
		w.wrong("the rows give another value: %+v", again)
	}
	running, seen := 0, map[int64]int64{}
	if slices.ContainsFunc(w.rows.Turns, func(t Turn) bool { return t.IsUndecided() && t.Epoch != w.rows.Epoch }) {
		w.wrong("people are asked about a turn of a conversation that is over")
	}
	for i, t := range w.rows.Turns {
		if old, again := w.over[t.ID]; again && old.Phase != Failed || i > 0 && w.rows.Turns[i-1].ID >= t.ID {
			w.wrong("the number %d is used twice", t.ID)
		}
		if t.Phase == Running {
			running++
		}
		if t.Attempts > 3 && t.Stopped == NotStopped && !w.waited[t.ID] && t.Follows == 0 {
			w.wrong("turn %d is tried again and again", t.ID)
		}
		list := questions(t)
		for _, seq := range list {
			if seen[seq] != 0 {
				w.wrong("message %d is in turns %d and %d", seq, seen[seq], t.ID)
			}
			seen[seq] = t.ID
			if m, ok := w.history[seq]; ok && m.epoch != t.Epoch {
				w.wrong("message %d of conversation %d is in turn %d of conversation %d", seq, m.epoch, t.ID, t.Epoch)
			}
		}
		if len(list) == 0 && t.Phase != Running && t.Stopped == NotStopped && t.Follows == 0 {
			w.wrong("turn %d asks nothing", t.ID)
		}
		if n := len(t.Asked); t.Attempts == 0 && n > 0 && t.ReplyTo == "" {
			w.wrong("turn %d replies to nothing", t.ID)
		}
		if t.Continues != 0 && w.over[t.Continues].Phase != Continued {
			w.wrong("turn %d goes on with turn %d, which is %+v", t.ID, t.Continues, w.over[t.Continues])
		}
	}
	if running > 1 {
		w.wrong("%d turns run", running)
	}
	w.checkFollowUps()
}

func (w *world) carryOut(f Effect) {
	switch f := f.(type) {
	case Given:
		if t := w.rows.Turn(f.Turn); f.Handed && w.agent != nil && w.agent.turn == f.Turn {
			w.agent.inbox = append(w.agent.inbox, t.Added[len(t.Added)-1])
		}
	case Claimed:
		if w.agent != nil {
			w.wrong("turn %d begins beside turn %d", f.Turn, w.agent.turn)
		}
		w.agent = &agent{turn: f.Turn, halted: w.rows.Turn(f.Turn).Stopped != NotStopped}
	case Halt:
		if w.agent != nil && w.agent.turn == f.Turn {
			w.agent.halted = true
		}
	}
}

// claim claims the next turn, as the bridge does whenever none runs. First it decides about what an earlier one has left.
func (w *world) claim() {
	if w.agent == nil {
		w.withdraw()
	}
	if f := w.followUp(); f != nil && f.Phase == Queued && w.doing != nil && !w.calm && w.pick(4) > 0 {
		return // there is no place for it yet
	}
	for i := 0; w.agent == nil; i++ {
		if i > 1000 {
			w.wrong("no turn can be claimed")
		}
		if t := w.claimed(); t != nil {
			w.recover(*t)
		} else if f := w.followUp(); f != nil && w.doing == nil {
			w.cutOff(*f)
		} else if fx, alive := w.step(Claims{}); alive && len(fx) == 0 {
			w.checkRest()
			return
		}
	}
}

func (w *world) claimed() *Turn {
	for i := range w.rows.Turns {
		if t := &w.rows.Turns[i]; t.Phase == Running {
			return t
		}
	}
	return nil
}

// recover decides about a turn whose bridge was killed, by what its agent has left.
func (w *world) recover(t Turn) {
	if t.Follows != 0 {
		w.cutOff(t)
		return
	}
	var p paper
	if last := w.last[t.ID]; last != nil {
		p = *last
	}
	var read []string
	for _, seq := range p.read {
		read = append(read, prompt(seq))
	}
	left := Remains{Ended: p.ended, Said: p.said, Used: p.used, Changed: p.changed}
	if p.said {
		left.Pages = 1
	}
	end := Ends{Turn: t.ID, Read: read, Unstopped: t.Stopped == NotStopped, Phase: w.fate(w.rows, t.ID, left, 3)}
	asks := func(r Request) bool { return r.NeededBy == t.ID && r.Verdict == Waiting }
	switch waits := slices.ContainsFunc(w.rows.Requests, asks); {
	case waits && end.Phase == Queued && p.used:
		w.wrong("people are asked what the agent of turn %d may do, and it runs again", t.ID)
	case !waits && end.Phase == Interrupted && p.ended:
		w.wrong("turn %d is interrupted although its agent has finished", t.ID)
	}
	if end.Phase == Queued {
		w.step(PutBack{Turn: t.ID})
		return
	}
	w.step(end)
}

func prompt(seq int64) string { return fmt.Sprintf("p%d", seq) }

// move is a step of the agent.
func (w *world) move(what string) {
	a := w.agent
	t := w.rows.Turn(a.turn)
	switch {
	case !a.asked && t.Follows != 0:
		w.tells(a, *t)
	case !a.asked && what == "no process": // also if it is stopped at this moment
		w.doing = nil
		w.end(PutBack{Turn: a.turn, Until: w.now.Add(time.Minute)})
	case !a.asked && a.halted:
		w.end(Ends{Turn: a.turn, Phase: Cancelled})
	case !a.asked:
		list, prompts := questions(*t), []string(nil)
		for _, m := range t.Added {
			prompts = append(prompts, m.Prompt)
		}
		if _, alive := w.step(Joins{a.turn, prompts}); alive {
			w.ask(a, list)
		}
	case what == "shutdown": // also if it is stopped at this moment
		w.end(w.goesOn(Ends{Turn: a.turn, Phase: Interrupted, Unstopped: true})...)
		if w.agent == a && w.rows.Turn(a.turn).Stopped == NotStopped {
			w.wrong("turn %d is not interrupted", a.turn)
		}
	case a.halted:
		w.end(w.goesOn(Ends{Turn: a.turn, Phase: Cancelled})...)
	case what == "work":
		w.work(*t)
	case what == "act" && !t.Acted:
		if _, alive := w.step(Acts{a.turn, true}); alive {
			a.paper.used, a.paper.changed = true, true
			w.used(a)
		}
	case what == "act":
		w.used(a)
	case what == "say":
		a.paper.said = true
	case what == "read" && len(a.inbox) > 0:
		m := a.inbox[0]
		a.inbox = a.inbox[1:]
		w.saw(a, m.Seq)
		a.paper.read = append(a.paper.read, m.Seq)
		w.step(Reads{a.turn, []string{m.Prompt}})
	case what == "die" && !t.Acted && t.Attempts < 3 && t.Follows == 0:
		w.doing = nil
		w.end(PutBack{Turn: a.turn})
	case what == "die":
		w.doing = nil
		w.end(Ends{Turn: a.turn, Phase: Failed})
	case what == "end":
		a.paper.said, a.paper.ended = true, true
		if !w.crash() {
			w.end(w.goesOn(Ends{Turn: a.turn, Phase: Done})...)
		}
	}
}

// end ends the agent's work for its turn.
func (w *world) end(events ...Event) {
	a := w.agent
	effects, alive := w.step(events...)
	if alive && w.agent == a && !slices.Contains(effects, Effect(Refused{a.turn})) {
		if w.agent = nil; w.claimed() != nil {
			w.wrong("turn %d stays claimed", a.turn)
		}
	}
	if w.doing != nil && len(w.doing.roots()) == 0 {
		w.rests()
	} else if w.agent == nil {
		w.endForsaken()
	}
}

// ask gives the agent its question.
func (w *world) ask(a *agent, list []int64) {
	t := w.rows.Turn(a.turn)
	a.asked, a.paper, a.inbox = true, &paper{}, nil
	w.papers[a.turn], w.last[a.turn] = append(w.papers[a.turn], a.paper), a.paper
	w.takesOver(a)
	if t.Stopped == ByPerson {
		w.wrong("turn %d is asked although a person has stopped it", t.ID)
	}
	for _, seq := range list {
		w.saw(a, seq)
		a.paper.asked = append(a.paper.asked, seq)
	}
}

// saw checks whether an agent may see a message now.
func (w *world) saw(a *agent, seq int64) {
	switch m := w.history[seq]; {
	case m.recalled && !a.halted:
		w.wrong("message %d was recalled, and turn %d asks it", seq, a.turn)
	case m.held:
		w.wrong("message %d is held, and turn %d asks it", seq, a.turn)
	case m.stopped:
		w.wrong("message %d was stopped, and turn %d asks it", seq, a.turn)
	}
	if !slices.Contains(a.paper.asked, seq) {
		w.order(a, seq)
	}
}

// order checks that questions are asked in the order in which they were written, but for those about which people have
// decided, those that have joined these, and those that had to wait until a time.
func (w *world) order(a *agent, seq int64) {
	t := w.rows.Turn(a.turn)
	joined := slices.Clone(questions(*t))
	for _, q := range t.Gone {
		joined = append(joined, q.Seq)
	}
	if w.waited[t.ID] || slices.ContainsFunc(joined, func(seq int64) bool { return w.history[seq].decided > 0 }) {
		return
	}
	for other, m := range w.history {
		if other >= seq || m.epoch != w.history[seq].epoch || m.recalled || m.held || m.stopped || m.decided > 0 {
			continue
		}
		t := w.turnOf(other)
		if t != nil && len(t.Gone) == 0 && t.ID != a.turn && t.Phase == Queued && t.Due.IsZero() {
			w.wrong("message %d is asked before message %d, which waits in turn %d", seq, other, t.ID)
		}
	}
}

func (w *world) turnOf(seq int64) *Turn {
	for i := range w.rows.Turns {
		if t := &w.rows.Turns[i]; slices.Contains(questions(*t), seq) {
			return t
		}
	}
	return nil
}

// used notes that the agent uses a tool for its questions, which it may do again only if people want it to go on.
func (w *world) used(a *agent) {
	for _, seq := range slices.Concat(a.paper.asked, a.paper.read) {
		times := 0
		for _, list := range w.papers {
			for _, p := range list {
				if p.changed && p != a.paper && (slices.Contains(p.asked, seq) || slices.Contains(p.read, seq)) {
					times++
				}
			}
		}
		if times > w.history[seq].decided {
			w.wrong("tools are used again for message %d", seq)
		}
	}
}

// The things that people do.

func (w *world) name(kind string) string { w.names++; return fmt.Sprint(kind, w.names) }

func (w *world) send(d delivery) {
	d.id = w.name("e")
	w.door = append(w.door, d)
}

// write stores a message of a person as the next one, and asks it.
func (w *world) write(e Asks, m message) Asks {
	seq := int64(len(w.history) + 1)
	m.epoch = w.rows.Epoch
	e.Message = Message{Seq: seq, ReplyTo: fmt.Sprint("om", seq)}
	if e.Press {
		e.Message.ReplyTo = ""
	}
	e.ReplyTo, e.Prompt = e.Message.ReplyTo, prompt(seq)
	w.history[seq] = m
	return e
}

func (w *world) question() delivery {
	return delivery{what: func(w *world) []Event {
		var e Asks
		if t := w.claimed(); t != nil && w.agent != nil && w.pick(2) == 1 && !w.waits() {
			e.Adds = t.ID
		} else if id := int64(w.pick(int(w.rows.Next))); w.pick(8) == 7 { // it comes too late for that turn
			switch old := w.rows.Turn(id); {
			case w.pick(2) == 1 && (old == nil || !old.IsUndecided()):
				e.GoesOn = id
			case t == nil || t.ID != id:
				e.Adds = id
			}
		}
		return []Event{w.write(e, message{})}
	}}
}

// waits reports whether questions wait, which a further one joins.
func (w *world) waits() bool {
	return slices.ContainsFunc(w.rows.Turns, func(t Turn) bool { return t.Phase == Queued })
}

func (w *world) late() delivery {
	return delivery{what: func(w *world) []Event {
		return []Event{w.write(Asks{Held: true}, message{held: true})}
	}}
}

func (w *world) stop() delivery {
	var turns []int64
	var unread *Turn
	return delivery{what: func(w *world) []Event {
		turns, unread = nil, nil
		if f := w.followUp(); f != nil && f.Phase != Running {
			unread = f
		}
		for _, t := range w.rows.Turns {
			if t.Phase == Running {
				turns = []int64{t.ID}
				break
			} else if t.Phase == Queued {
				turns = append(turns, t.ID)
			}
		}
		if i := len(w.rows.Turns) - 1; i >= 0 && !w.rows.Turns[i].IsUndecided() && w.pick(4) == 3 { // on its card
			turns, unread = []int64{w.rows.Turns[i].ID}, nil
		} else if unread != nil {
			return []Event{Stops{turns}, Vanishes{unread.ID, Cancelled}}
		}
		return []Event{Stops{turns}}
	}, then: func(w *world) {
		if unread != nil {
			if w.doing = nil; w.rows.Turn(unread.ID) != nil {
				w.wrong("follow-up %d waits although it was stopped", unread.ID)
			}
		}
		for _, id := range turns {
			for _, seq := range questions(w.stored(id)) {
				m := w.history[seq]
				m.stopped = true
				w.history[seq] = m
			}
		}
	}}
}

func (w *world) begin() delivery {
	return delivery{what: func(w *world) []Event {
		list := []Event{Begins{}}
		for _, t := range w.rows.Turns {
			if t.IsUndecided() {
				list = append(list, Decides{Turn: t.ID})
			}
		}
		return list
	}, then: func(w *world) { w.doing = nil }}
}

// recall takes a question back, and with the last question of an interrupted turn the request to go on with that.
func (w *world) recall(seq int64) delivery {
	var gone []int64
	return delivery{what: func(w *world) (list []Event) {
		gone = []int64{seq}
		for _, t := range slices.Concat(w.rows.Turns, w.overTurns()) {
			if !slices.Contains(questions(t), seq) {
				continue
			}
			list = append(list, Recalls{t.ID, seq})
			last := len(questions(t)) == 1
			for _, next := range w.rows.Turns {
				if follows := next.Continues != 0 && w.over[next.Continues].Follows == t.ID; next.Follows == t.ID && last {
					list = append(list, Loses{Turn: next.ID})
				} else if follows && last {
					list = append(list, Loses{Turn: next.ID})
				} else if next.Continues == t.ID {
					list = append(list, Loses{next.ID, seq})
				} else {
					continue
				}
				left := slices.DeleteFunc(slices.Clone(next.Earlier.Left), func(q Message) bool { return q.Seq == seq })
				for _, q := range next.Asked {
					if len(left) == 0 && (q.ReplyTo == "" || len(next.Asked) == 1) {
						gone = append(gone, q.Seq)
						list = append(list, Recalls{next.ID, q.Seq})
					}
				}
			}
		}
		return list
	}, then: func(w *world) {
		same := func(q Message) bool { return slices.Contains(gone, q.Seq) }
		for id, t := range w.over {
			for _, q := range t.Asked {
				if same(q) {
					t.Gone = append(slices.Clone(t.Gone), q)
				}
			}
			t.Asked = slices.DeleteFunc(slices.Clone(t.Asked), same)
			w.over[id] = t
		}
		for _, seq := range gone {
			m := w.history[seq]
			m.recalled = true
			w.history[seq] = m
		}
		w.endForsaken()
	}}
}

func (w *world) overTurns() (list []Turn) {
	for _, t := range w.over {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b Turn) int { return int(a.ID - b.ID) })
	return list
}

func (w *world) decides(id int64, goesOn bool) delivery {
	var asked []int64
	return delivery{what: func(w *world) []Event {
		t := w.rows.Turn(id)
		asked = nil
		if t == nil || !t.IsUndecided() {
			return []Event{Decides{id, goesOn}}
		}
		asked = questions(*t)
		if press := t.Phase == Interrupted && w.pick(2) == 1; goesOn && (press || w.pick(2) == 1) {
			return []Event{w.write(Asks{GoesOn: id, Press: press}, message{decided: 1})}
		} else if goesOn && t.Phase == Interrupted {
			return []Event{w.write(Asks{GoesOn: id, Press: true}, message{decided: 1})}
		}
		return []Event{Decides{id, goesOn}}
	}, then: func(w *world) {
		for _, seq := range asked {
			m := w.history[seq]
			m.decided++
			m.held = m.held && !goesOn
			w.history[seq] = m
		}
		if !goesOn {
			return
		}
		for _, r := range w.rows.Requests {
			if r.NeededBy == id && w.over[id].Phase == Continued && asked != nil {
				w.wrong("what goes on with turn %d does not need request %s", id, r.ID)
			}
		}
		for _, t := range w.rows.Turns { // what it goes on with was decided about, too
			if t.Continues == id {
				for _, seq := range questions(t) {
					m := w.history[seq]
					m.decided++
					w.history[seq] = m
				}
			}
		}
	}}
}

// deliver hands the bridge something that people have done, until it has taken it.
func (w *world) deliver(i int) {
	d := w.door[i]
	if w.known[d.id] {
		w.door = slices.Delete(w.door, i, i+1)
		return
	}
	messages := len(w.history)
	was := w.rows
	_, alive := w.step(d.what(w)...)
	if !alive && reflect.DeepEqual(was, w.rows) { // not stored
		for seq := range w.history {
			if seq > int64(messages) {
				delete(w.history, seq)
			}
		}
		return
	}
	if w.known[d.id] = true; d.then != nil {
		d.then(w)
	}
	if alive && w.agent != nil && !w.agent.halted && w.rows.Turn(w.agent.turn).Stopped != NotStopped {
		w.wrong("the agent of turn %d works on although the turn is stopped", w.agent.turn)
	}
}

func (w *world) askAgain(id int64) delivery {
	return delivery{what: func(w *world) []Event {
		var until time.Time
		if w.pick(2) == 1 {
			until = w.now.Add(time.Hour)
		}
		return []Event{AskedAgain{w.over[id], until}}
	}, then: func(w *world) {
		if w.rows.Turn(id) != nil {
			delete(w.over, id)
		}
	}}
}

// request is a request of the agent. What people decide about it is decided elsewhere; who waits for it is not.
func (w *world) request() {
	if a := w.agent; a.asked && !a.halted {
		a.paper.used = true
		w.asks(a.turn, a)
	}
}

// enabled are the things that can happen now. What leads on is listed more often.
func (w *world) enabled() (list []func()) {
	add := func(times int, f func()) {
		for range times {
			list = append(list, f)
		}
	}
	send := func(times int, d delivery) { add(times, func() { w.send(d) }) }
	send(3, w.question())
	if !w.busy || w.pick(4) == 0 {
		send(1, w.late())
		send(1, w.stop())
		if len(w.rows.Turns) > 0 {
			send(1, w.begin())
		}
	}
	for _, t := range w.rows.Turns {
		if list := questions(t); len(list) > 0 {
			send(1, w.recall(list[w.pick(len(list))]))
		}
		if left := t.Earlier.Left; len(left) > 0 {
			send(2, w.recall(left[0].Seq))
		}
		if t.IsUndecided() {
			send(3, w.decides(t.ID, true))
			send(1, w.decides(t.ID, false))
		}
		if !t.Due.IsZero() {
			add(1, func() { w.now = w.now.Add(time.Hour); w.claim() })
			send(1, delivery{what: func(*world) []Event { return []Event{Due{}} }})
		}
	}
	for _, t := range w.overTurns() {
		if t.Phase == Failed {
			send(1, w.askAgain(t.ID))
		} else if t.Phase == Continued {
			send(1, w.decides(t.ID, true))
		}
	}
	for _, r := range w.rows.Requests {
		if r.Verdict == Waiting && (!w.busy || w.pick(4) == 0) {
			send(2, w.presses(r.ID, Allowed))
			send(1, w.presses(r.ID, Denied))
			add(1, func() { w.expires(r.ID) })
		}
	}
	if last := w.rows.Next - 1; last > 0 {
		turn := 1 + int64(w.pick(int(last)))
		add(1, func() { w.asks(turn, nil) }) // it may have ended, or wait: its agent was killed as it asked
	}
	if len(w.asked) > 0 {
		send(1, w.presses(fmt.Sprint("r", w.pick(w.names+1)), Allowed)) // that may be over
	}
	if len(w.door) > 0 {
		add(8, func() { w.deliver(0) })
		add(1, func() { w.deliver(len(w.door) - 1) }) // the platform has no order
	}
	if w.agent != nil {
		for _, what := range []string{"ask", "ask", "say", "act", "read", "read", "end", "die", "shutdown"} {
			add(1, func() { w.move(what) })
		}
		add(1, w.request)
		if w.busy {
			add(8, func() { w.move("work") })
			add(4, func() { w.move("end") })
		}
		if !w.agent.asked {
			add(1, func() { w.move("no process") })
		}
	}
	if b := w.doing; b != nil {
		if len(b.works) > 0 {
			add(4, w.ends)
			add(4, w.requestInBackground)
		}
		if len(b.woken) > 0 && w.agent == nil {
			add(16, w.wakes)
		}
		if len(b.woken) > 0 {
			add(2, w.rests)
		}
		if f := w.followUp(); f != nil && f.Phase == Queued {
			send(2, w.stop())
		}
		if w.agent == nil {
			add(1, func() { w.doing = nil })
		}
	}
	add(1, func() { w.say("killed"); w.agent, w.doing = nil, nil })
	return list
}

// run draws a life of the chat, lets it come to rest and checks it.
func (w *world) run() {
	for range 5 + w.pick(64) {
		list := w.enabled()
		list[w.pick(len(list))]()
		w.claim()
	}
	w.calm = true
	for i := 0; len(w.door) > 0 || len(w.rows.Turns) > 0; i++ {
		if i > 2000 {
			w.wrong("it does not come to rest")
		}
		j := slices.IndexFunc(w.rows.Turns, Turn.IsUndecided)
		switch {
		case len(w.door) > 0:
			w.deliver(0)
		case w.agent != nil && len(w.agent.inbox) > 0:
			w.move("read")
		case w.agent != nil:
			w.move("end")
		case w.doing != nil && len(w.doing.woken) > 0:
			w.wakes()
		case w.doing != nil && len(w.doing.works) > 0:
			w.ends()
		case j >= 0:
			w.send(w.decides(w.rows.Turns[j].ID, true))
		default:
			w.now = w.now.Add(2 * time.Hour)
		}
		w.claim()
	}
	w.withdraw()
	w.check()
	w.checkRequests()
}

// check checks what has become of each message.
func (w *world) check() {
	for seq, m := range w.history {
		answers, told := 0, false
		for _, t := range w.over {
			if !slices.Contains(questions(t), seq) {
				continue
			}
			had := false
			for _, p := range w.papers[t.ID] {
				had = had || slices.Contains(p.asked, seq) || slices.Contains(p.read, seq)
			}
			switch {
			case t.Phase == Done && had:
				answers++
			case t.Phase == Done:
				w.wrong("message %d counts as answered by turn %d, which never had it", seq, t.ID)
			}
			told = told || t.Phase == Failed || t.Phase == Cancelled && (m.stopped || t.Stopped == ByRecall && had || t.Epoch != w.rows.Epoch) ||
				t.Phase == Dropped || t.Phase == Continued && (had || w.last[t.ID] == nil)
		}
		switch {
		case answers > 1:
			w.wrong("message %d was answered %d times", seq, answers)
		case answers == 0 && !told && !m.recalled:
			w.wrong("message %d was lost", seq)
		}
	}
	for _, t := range w.over { // the rest of a turn that a recall has stopped is asked again, unless it may have done something
		if t.Phase != Cancelled || t.Stopped != ByRecall {
			continue
		}
		for _, seq := range questions(t) {
			if !t.Acted {
				w.wrong("message %d ended with turn %d although only another one was recalled", seq, t.ID)
			}
		}
	}
}

// Whatever happens in whatever order, and whenever the bridge is killed: nothing is lost, none is answered twice, the
// order is kept, one turn runs at a time, a stop stops, what was recalled is not asked.
func TestAnyOrderOfEvents(t *testing.T) {
	if err := flag.Set("rapid.checks", "2000"); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		pick := func(n int) int {
			number := 0
			for range 7 { // rapid prefers small numbers
				if number *= 2; rapid.Bool().Draw(t, "next") {
					number++
				}
			}
			return number * n / 128
		}
		w := newWorld(pick, func(why string) { t.Fatal(why) }, Decide, nil)
		w.busy = pick(2) == 1
		w.run()
	})
}
