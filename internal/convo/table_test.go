package convo_test

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	. "magpie/internal/convo"
)

var update = flag.Bool("update", false, "write the table of phases and events anew")

var phases = map[Phase]string{
	Queued: "Queued", Background: "Background", Running: "Running", Late: "Late", Interrupted: "Interrupted", Done: "Done",
	Failed: "Failed", Cancelled: "Cancelled", Recalled: "Recalled", Continued: "Continued", Dropped: "Dropped",
}

// columns of the table: that of a chat in which nothing is open comes first.
func columns() (list []Phase) {
	for p := Phase(0); !p.IsOver(); p++ {
		list = append(list, p)
	}
	return list
}

// row is what happens to a turn: its only question is 1, and its agent was handed 2, which it has not read.
type row struct {
	event Event
	set   func(*Turn) // what else is to be known of the turn; nil = nothing
}

// rows has one for each event, and for what makes a difference in it.
var rows = []row{
	{event: Asks{Message: Message{Seq: 9, ReplyTo: "om9"}, ReplyTo: "om9"}},
	{event: Asks{Message: Message{Seq: 9, ReplyTo: "om9"}, ReplyTo: "om9", Adds: 1, Prompt: "p9"}},
	{event: Asks{Message: Message{Seq: 9, ReplyTo: "om9"}, ReplyTo: "om9", Held: true}},
	{event: Asks{Message: Message{Seq: 9}, GoesOn: 1, Press: true}},
	{event: Claims{}},
	{event: Joins{1, []string{"p2"}}},
	{event: Acts{1, true}},
	{event: Reads{1, []string{"p2"}}},
	{event: Ends{Turn: 1, Phase: Done}},
	{event: Ends{Turn: 1, Phase: Failed}},
	{event: Ends{Turn: 1, Phase: Interrupted}},
	{event: Ends{Turn: 1, Phase: Cancelled}, set: stopped(ByPerson)},
	{event: Ends{Turn: 1, Phase: Cancelled}, set: stopped(ByRecall)},
	{event: Ends{Turn: 1, Phase: Done, Unstopped: true}, set: stopped(ByPerson)},
	{event: PutBack{Turn: 1}},
	{event: PutBack{Turn: 1, Until: later}},
	{event: AskedAgain{}},
	{event: Due{}, set: func(t *Turn) { t.Due = later }},
	{event: Stops{[]int64{1}}},
	{event: Recalls{1, 1}, set: func(t *Turn) { t.Added = nil }},
	{event: Recalls{1, 1}, set: func(t *Turn) {
		if t.Phase != Background { // people have asked nothing
			t.Asked = append(t.Asked, Message{Seq: 3, ReplyTo: "om3"})
		}
	}},
	{event: Loses{Turn: 1, Seq: 5}, set: func(t *Turn) {
		if t.Phase != Late && t.Phase != Background { // only what a person made go on goes on with another turn
			t.Continues, t.Earlier = -1, Earlier{Left: []Message{{Seq: 5}}}
		}
	}},
	{event: WorksOn{After: Turn{ID: 1, ReplyTo: "om1"}}},
	{event: Wakes{1}},
	{event: Sleeps{1}, set: followUp},
	{event: Vanishes{1, Cancelled}, set: followUp},
	{event: Begins{}},
	{event: Decides{1, true}},
	{event: Decides{1, false}},
	{event: Wants{1, "s"}},
	{event: Settles{ID: "r", From: Waiting, As: Allowed, Told: true}},
	{event: Settles{ID: "r", From: Waiting, As: Allowed}},
	{event: Settles{ID: "r", From: Waiting, As: Expired}},
	{event: Tells{"r"}},
}

func stopped(s Stop) func(*Turn) {
	return func(t *Turn) {
		if s == ByPerson || t.Phase != Background { // a recall ends that one at once
			t.Stopped = s
		}
	}
}

// followUp makes a turn one that its agent has begun.
func followUp(t *Turn) {
	if t.Phase <= Running {
		t.Follows, t.Asked, t.Added = 7, nil, nil
	}
}

var tableTime = time.UnixMilli(1e12)
var later = tableTime.Add(time.Hour)

// inPhase is a chat with one turn in a phase; 0 = none.
func inPhase(p Phase, set func(*Turn)) Chat {
	if p == 0 {
		return Chat{Next: 2}
	}
	t := Turn{ID: 1, Phase: p, Created: tableTime, ReplyTo: "om1", Asked: []Message{{Seq: 1, ReplyTo: "om1"}}}
	switch p {
	case Running, Interrupted:
		t.Attempts = 1
		t.Added = []Added{{Message: Message{Seq: 2, ReplyTo: "om2"}, Prompt: "p2"}}
	case Background:
		t.Follows, t.Asked = 7, nil
	}
	if set != nil {
		set(&t)
	}
	return Chat{Next: 2, Turns: []Turn{t}, Requests: []Request{{ID: "r", NeededBy: 1, Verdict: Waiting}}}
}

// nameOf names an event as the table does. t is the turn that it concerns.
func nameOf(e Event, t *Turn) string {
	name := "`" + strings.TrimPrefix(fmt.Sprintf("%T", e), "convo.") + "`"
	switch e := e.(type) {
	case Asks:
		switch {
		case e.GoesOn != 0:
			return name + " GoesOn"
		case e.Adds != 0:
			return name + " Adds"
		case e.Held:
			return name + " Held"
		}
	case Ends:
		switch {
		case e.Unstopped && t != nil && t.Stopped != NotStopped:
			return name + " Unstopped, but was stopped"
		case e.Phase == Cancelled && t != nil && t.Stopped == ByRecall:
			return name + " Cancelled by a recall"
		}
		return name + " " + phases[e.Phase]
	case PutBack:
		if !e.Until.IsZero() {
			return name + " Until"
		}
	case Recalls:
		if t != nil && len(t.Asked)+len(t.Added) > 1 {
			return name + " one of several"
		}
		return name + " the last one"
	case Decides:
		if e.GoesOn {
			return name + " GoesOn"
		}
	case Settles:
		switch {
		case e.Told:
			return name + " Told"
		case e.As == Expired || e.As == Withdrawn:
			return name + " undecided"
		}
	}
	return name
}

// concerns are the turns that an event is about: those that it names, or all.
func concerns(c Chat, e Event) (list []int64) {
	switch e := e.(type) {
	case Asks:
		if id := e.GoesOn + e.Adds; id != 0 {
			return []int64{id}
		}
	case Stops:
		return e.Turns
	case AskedAgain:
		return []int64{e.Turn.ID}
	}
	if f := reflect.ValueOf(e).FieldByName("Turn"); f.IsValid() {
		return []int64{f.Int()}
	}
	for _, t := range c.Turns {
		list = append(list, t.ID)
	}
	if list == nil {
		return []int64{0}
	}
	return list
}

// transition is a cell of the table in which something happens.
type transition struct {
	event   string
	phase   Phase
	outcome string
}

// transitionOf is what an event has done to a turn, and beside it.
func transitionOf(id int64, was Chat, e Event, is Chat, effects []Effect) (done transition) {
	var parts []string
	old := was.Turn(id)
	if old != nil {
		done.phase = old.Phase
		parts = changes(*old, *turn(&is, id))
	}
	done.event = nameOf(e, old)
	for _, t := range is.Turns {
		if turn(&was, t.ID) == nil {
			parts = append(parts, "+ **"+phases[t.Phase]+"**")
		}
	}
	if is.Epoch != was.Epoch {
		parts = append(parts, "Epoch")
	}
	if !reflect.DeepEqual(is.Requests, was.Requests) {
		parts = append(parts, "Requests")
	}
	for _, f := range effects {
		if name := "*" + strings.TrimPrefix(fmt.Sprintf("%T", f), "convo.") + "*"; !slices.Contains(parts, name) {
			parts = append(parts, name)
		}
	}
	done.outcome = strings.Join(parts, ", ")
	return done
}

// changes is the next phase of a turn, or which of its fields have changed.
func changes(old, t Turn) (list []string) {
	if old.Phase != t.Phase {
		return []string{"**" + phases[t.Phase] + "**"}
	}
	was, is := reflect.ValueOf(old), reflect.ValueOf(t)
	for i := range was.NumField() {
		if !reflect.DeepEqual(was.Field(i).Interface(), is.Field(i).Interface()) {
			list = append(list, was.Type().Field(i).Name)
		}
	}
	return list
}

// visit notes which transitions a step has made; nil = nobody wants to know.
func (w *world) visit(was Chat, e Event, is Chat, effects []Effect) {
	if w.visited == nil {
		return
	}
	for _, id := range concerns(was, e) {
		w.visited[transitionOf(id, was, e, is, effects)] = true
	}
}

// table is the table of phases and events as Markdown, and all transitions in it.
func table() (text string, list []transition) {
	text = "| |"
	for _, p := range columns() {
		text += " " + cmp.Or(phases[p], "none") + " |"
	}
	text += "\n|---|" + strings.Repeat("---|", len(columns()))
	for _, r := range rows {
		name, cells := "", ""
		for _, p := range columns() {
			was, e := inPhase(p, r.set), r.event
			switch e.(type) {
			case AskedAgain:
				e = AskedAgain{Turn: Turn{ID: 1, Phase: cmp.Or(p, Failed), Attempts: 1, Asked: []Message{{Seq: 1}}}}
			case WorksOn:
				if p == Background { // that of other questions
					e = WorksOn{After: Turn{ID: 6, ReplyTo: "om6"}, Instead: 1}
				}
			}
			if _, ok := e.(Tells); ok && p != 0 {
				was.Requests[0].Verdict = Allowed
			}
			is, effects := Decide(was, e, tableTime)
			done := transitionOf(1, was, e, is, effects)
			if p == Queued {
				name = done.event
			}
			if done.outcome != "" {
				list = append(list, done)
			}
			cells += " " + cmp.Or(done.outcome, "–") + " |"
		}
		text += "\n| " + name + " |" + cells
	}
	return text, list
}

// page is where docs/architecture.md and its twin show the table.
var page = regexp.MustCompile(`(?s)(<!-- go test \./internal/convo -run TestTheTableOfStates -update -->\n\n).*?(\n\n)`)

// The architecture pages show what Decide does, and the property test reaches each transition that they show.
func TestTheTableOfStates(t *testing.T) {
	text, list := table()
	for _, done := range list {
		if done.phase != 0 && !strings.Contains(text, "\n| "+done.event+" |") {
			t.Errorf("%s in %s stands in the row of another event", done.event, phases[done.phase])
		}
	}
	for _, name := range []string{"../../docs/architecture.md", "../../docs/architecture.zh.md"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want := page.ReplaceAllString(string(data), "${1}"+text+"${2}")
		if *update {
			if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if !page.Match(data) || string(data) != want {
			t.Errorf("%s is outdated: update it with go test ./internal/convo -run TestTheTableOfStates -update", name)
		}
	}

	visited := map[transition]bool{}
	isMissing := func(done transition) bool { return !visited[done] }
	rng := rand.New(rand.NewPCG(1, 2))
	for n := 0; n < 20000 && slices.ContainsFunc(list, isMissing); n++ { // as in TestAnyOrderOfEvents
		w := newWorld(rng.IntN, func(why string) { t.Fatal(why) }, Decide, visited)
		w.busy = n%2 == 1
		w.run()
	}
	for _, done := range list {
		if isMissing(done) {
			t.Errorf("no life of a chat has this transition: %s in %s: %s", done.event, phases[done.phase], done.outcome)
		}
	}
}

// Each event has a row.
func TestEveryEventIsInTheTable(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\nfunc \((?:\w+ )?(\w+)\) on\(`).FindAllSubmatch(src, -1) {
			found++
			if !slices.ContainsFunc(rows, func(r row) bool { return reflect.TypeOf(r.event).Name() == string(m[1]) }) {
				t.Errorf("the table has no row for %s", m[1])
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d events were found", found)
	}
}
