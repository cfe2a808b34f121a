// Package turncard is the card of a turn: [State] is what has happened so far as a value, Card draws it, and a
// [Painter] shows the latest one at the platform's pace. What a turn does does not belong here, nor how its end is
// stored and delivered.
package turncard

import (
	"slices"
	"strings"
	"time"

	"magpie/bridge/i18n"
	"magpie/db"
	"magpie/internal/claude"
)

// What the buttons of a card do.
const (
	DoStop     = "stop"
	DoContinue = "continue" // go on with an interrupted turn
	DoDrop     = "drop"     // leave it
)

// State is what a turn looks like so far: a value. Events change it by Apply; Card draws it.
type State struct {
	turn     int64
	Lang     i18n.Lang
	phase    phase
	asks     int // questions to people that are open
	steps    steps
	thoughts string // the end of what the model has thought
	answer   answer
	denied   deniedTools
	began    time.Time
	figures  figures // what the turn took; known at its end
	context  string  // what the agent was told beside the question
	outcome  Outcome // zero while it runs
	suggests string  // what may be asked next; empty = nothing
	unasked  bool    // something goes on in the background when it has ended
}

// phase is what goes on in a turn that runs.
type phase struct {
	text  i18n.Phrase // its %s is tool
	tool  string
	since time.Time // of an answer that is being written: since its last piece
}

// New is the state of a turn that has just begun.
func New(turn int64, l i18n.Lang, now time.Time) State {
	return State{turn: turn, Lang: l, phase: phase{text: i18n.Thinking, since: now}, began: now}
}

// Apply is the state after an event. It does not change v.
func (v State) Apply(ev claude.Event, now time.Time) State {
	switch e := ev.(type) {
	case claude.Started:
		v.phase = v.phase.thinking(now)
	case claude.Thinking:
		v.phase, v.thoughts = v.phase.thinking(now), lastOf(v.thoughts+e.Text, mostThoughts)
	case claude.Text:
		v.phase = phase{text: i18n.CardWriting, since: now}
		v.answer = v.answer.with(e, v.asks > 0)
	case claude.Rewind:
		v.answer = v.answer.back(e.Block)
	case claude.ToolCall:
		if v.asks == 0 && v.steps.running() == nil {
			v.phase = phase{since: now}
			v.phase.text, v.phase.tool = preparing(e.Name, v.Lang)
		}
	case claude.ToolUse:
		v.steps = v.steps.begun(e, now)
		return v.running(now)
	case claude.ToolResult:
		v.steps = v.steps.ended(e, now)
		return v.running(now)
	case claude.ToolAsk:
		v.asks++
		v.phase = phase{text: i18n.CardYourTurn, since: now}
	case claude.ToolAskEnd, claude.ToolAllowed:
		v.asks = max(0, v.asks-1)
		return v.running(now)
	case claude.ToolDenied:
		v.asks, v.steps = max(0, v.asks-1), v.steps.refused(e)
		if !slices.Contains([]string{claude.QuestionTool, claude.PlanTool}, e.Name) && !slices.Contains(v.denied, e.Name) {
			v.denied = append(slices.Clone(v.denied), e.Name)
		}
		return v.running(now)
	case claude.Retrying:
		v.phase = phase{text: i18n.Retrying, since: now}
	case claude.Compacting:
		v.phase = phase{text: i18n.Compacting, since: now}
	case claude.Result:
		v.figures = figuresOf(e, now.Sub(v.began))
		if v.Answer() == "" && e.Failure == "" && e.Text != "" {
			v.answer = v.answer.with(claude.Text{Block: len(v.answer.blocks), Text: e.Text}, v.asks > 0) // of the CLI itself
		}
	}
	return v
}

// Asked is the state after people were asked something, by a card of its own: what the agent says once they have
// decided stands below that card, where they look.
func (v State) Asked() State {
	v.answer.asked = true
	return v
}

// Added is the state after the agent has read a message that was handed to the turn.
func (v State) Added(text string, now time.Time) State {
	v.steps = v.steps.added(text, now)
	return v
}

// thinking is the phase in which the model thinks: p, if that is the one.
func (p phase) thinking(now time.Time) phase {
	if p.text != i18n.Thinking {
		return phase{text: i18n.Thinking, since: now}
	}
	return p
}

// running is the state of a turn with the tool that has run for longest, unless people are asked something.
func (v State) running(now time.Time) State {
	if v.asks > 0 {
		return v
	}
	s := v.steps.running()
	if s == nil {
		v.phase = v.phase.thinking(now)
		return v
	}
	v.phase = phase{since: s.began}
	v.phase.text, v.phase.tool = using(s.tool, v.Lang)
	return v
}

// Waiting is the state of a turn that waits for a free process.
func (v State) Waiting(now time.Time) State {
	v.phase = phase{text: i18n.Waiting, since: now}
	return v
}

// Compacting is the state of a turn that waits for a summary of what was said before.
func (v State) Compacting(now time.Time) State {
	v.phase = phase{text: i18n.Compacting, since: now}
	return v
}

// WithContext is the state of a turn whose agent was told this beside the question.
func (v State) WithContext(context string) State {
	v.context = context
	return v
}

// Receiving is the state of a turn that waits for what was sent with its question.
func (v State) Receiving(now time.Time) State {
	v.phase = phase{text: i18n.Receiving, since: now}
	return v
}

// Restarted is the state of a turn that begins again: what was shown of the first try is void.
func (v State) Restarted(now time.Time) State {
	fresh := New(v.turn, v.Lang, now)
	fresh.began, fresh.context, fresh.answer = v.began, v.context, v.answer.void()
	return fresh
}

// Saying is the state with this answer, each part of it on a message of its own.
func (v State) Saying(parts ...string) State {
	v.answer = saying(parts)
	return v
}

// Finish is the state of a turn that is over. If nothing was said after the last decision, its end stands below that.
func (v State) Finish(o Outcome) State {
	v.outcome = o
	if o.State == db.Done || o.State == db.Failed {
		v.answer = v.answer.below(len(v.answer.blocks), v.asks > 0)
	}
	return v
}

// WithUnasked is the state of a turn that has ended while something goes on in the background.
func (v State) WithUnasked() State {
	v.unasked = true
	return v
}

// Suggesting is the state of a turn behind which this may be asked next.
func (v State) Suggesting(question string) State {
	v.suggests = question
	return v
}

// Answer is what the agent said.
func (v State) Answer() string { return v.answer.text() }

// Parts are the answer as it is divided: each of them but the last is complete and stands on a message of its own.
func (v State) Parts() []string { return v.answer.parts() }

// mostThoughts is how much of what the model thinks is kept, in bytes.
const mostThoughts = 8 << 10

// lastOf returns the end of a text, at most this many bytes, and only whole lines if there are any.
// The end matters: it is what the agent thinks now.
func lastOf(text string, most int) string {
	if len(text) <= most {
		return text
	}
	text = text[len(text)-most:]
	if _, rest, ok := strings.Cut(text, "\n"); ok {
		return rest
	}
	return strings.ToValidUTF8(text, "")
}
