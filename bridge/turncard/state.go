// Package turncard is the card of a turn: [State] is an immutable value of what has happened so far, Card renders it,
// and a [Painter] shows the latest one at the platform's pace. The package does not run the turn, nor store or deliver
// its end.
package turncard

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"magpie/internal/claude"
	"magpie/internal/claude/stream"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

// The actions of a card's buttons.
const (
	DoStop     = "stop"
	DoContinue = "continue" // continue an interrupted turn
	DoDrop     = "drop"     // drop it
)

// State is the visible state of a turn: an immutable value. Apply adds an event; Card renders it.
type State struct {
	turn     int64
	Lang     i18n.Lang
	phase    phase
	asks     int // open questions to people
	steps    steps
	thoughts string // the end of the model's thoughts
	answer   answer
	denied   deniedTools
	began    time.Time
	waited   time.Duration // for people, other answers, an update: no work
	asked    time.Time     // since when people are asked; zero = they are not
	figures  figures       // known at the end of the turn
	context  string        // the context that the agent got besides the question
	outcome  Outcome       // zero while the turn runs
	suggests string        // a suggested next question; empty = none
	worksOn  bool          // background work continues after the end
}

// phase is what a running turn is doing.
type phase struct {
	text  i18n.Phrase // its %s is tool
	tool  string
	since time.Time // while an answer is written: the time of its last piece
}

// New is the state of a turn that has just begun.
func New(turn int64, l i18n.Lang, now time.Time) State {
	return State{turn: turn, Lang: l, phase: phase{text: i18n.Thinking, since: now}, began: now}
}

// Apply returns the state after an event. It does not change v.
func (v State) Apply(ev claude.Event, now time.Time) State {
	switch e := ev.(type) {
	case claude.Started:
		v.phase = v.phase.thinking(now)
	case claude.Thinking:
		v.phase, v.thoughts = v.phase.thinking(now), lastOf(v.thoughts+e.Text, maxThoughts)
	case claude.Text:
		v.phase = phase{text: i18n.CardWriting, since: now}
		v.answer = v.answer.withText(e, v.asks > 0)
	case claude.Rewind:
		v.answer = v.answer.rewindTo(e.Block)
	case claude.ToolCall:
		if v.asks == 0 && v.steps.oldestRunning() == nil && !slices.Contains(internalTools, e.Name) {
			v.phase = phase{since: now}
			v.phase.text, v.phase.tool = preparingStatus(e.Name, v.Lang)
		}
	case claude.ToolUse:
		v.steps = v.steps.withStart(e, now)
		return v.withRunningTool(now)
	case claude.ToolResult:
		v.steps = v.steps.withResult(e, now)
		return v.withRunningTool(now)
	case claude.ToolAsk:
		if v.asks == 0 {
			v.asked = now
		}
		v.asks++
		v.phase = phase{text: i18n.CardYourTurn, since: now}
	case claude.ToolAskEnd, claude.ToolAllowed:
		v = v.withoutAsk(now)
		return v.withRunningTool(now)
	case claude.ToolDenied:
		v = v.withoutAsk(now)
		v.steps = v.steps.withDenial(e)
		if !stream.AsksPeople(e.Name) && e.Name != claude.PlanTool && !slices.Contains(v.denied, e.Name) {
			v.denied = append(slices.Clone(v.denied), e.Name)
		}
		return v.withRunningTool(now)
	case claude.Retrying:
		v.phase = phase{text: i18n.Retrying, since: now}
		if e.Failure == claude.FailAuth {
			v.phase.text = i18n.RetryingKey
		}
	case claude.Compacting:
		v.phase = phase{text: i18n.Compacting, since: now}
	case claude.Result:
		v.figures = figuresOf(e, now.Sub(v.began)-v.waited)
		if v.Answer() == "" && e.Failure == "" && e.Text != "" {
			// The CLI itself wrote this text.
			v.answer = v.answer.withText(claude.Text{Block: len(v.answer.blocks), Text: e.Text}, v.asks > 0)
		}
	}
	return v
}

// withoutAsk returns the state after one question to people less.
func (v State) withoutAsk(now time.Time) State {
	if v.asks == 1 {
		v.waited += now.Sub(v.asked)
	}
	v.asks = max(0, v.asks-1)
	return v
}

// Waited returns the state after a wait that is no work.
func Waited(v State, d time.Duration) State {
	v.waited += d
	return v
}

// WithQuestionAsked returns the state after people were asked something on a separate card. Once they have decided, the
// answer continues below that card, where they look.
func (v State) WithQuestionAsked() State {
	v.answer.asked = true
	return v
}

// HasAsked reports whether people were asked something.
func HasAsked(v State) bool {
	return v.asks > 0 || v.answer.asked || len(v.answer.starts) > 0 || len(v.denied) > 0
}

// WithAddition returns the state after the agent has read a steered message.
func (v State) WithAddition(text string, now time.Time) State {
	v.steps = v.steps.withAddition(text, now)
	return v
}

// thinking returns the thinking phase; it keeps p if that already is one.
func (p phase) thinking(now time.Time) phase {
	if p.text != i18n.Thinking {
		return phase{text: i18n.Thinking, since: now}
	}
	return p
}

// withRunningTool returns the state showing the tool that has run longest, unless people are being asked something.
func (v State) withRunningTool(now time.Time) State {
	if v.asks > 0 {
		return v
	}
	s := v.steps.oldestRunning()
	if s == nil {
		v.phase = v.phase.thinking(now)
		return v
	}
	v.phase = phase{since: s.began}
	v.phase.text, v.phase.tool = runningStatus(s.tool, v.Lang)
	return v
}

// Waiting returns the state while the turn waits for the end of others, at this place of the queue.
func (v State) Waiting(place int, now time.Time) State {
	v.phase = phase{text: i18n.Waiting, tool: strconv.Itoa(place), since: now}
	return v
}

// Doing returns the state while the turn waits for something else than the model, or does it.
func (v State) Doing(what i18n.Phrase, now time.Time) State {
	v.phase = phase{text: what, since: now}
	return v
}

// WithContext returns the state with a description of the agent's context.
func (v State) WithContext(context string) State {
	v.context = context
	return v
}

// Restarted returns the state of a turn that starts over, without the output of the first attempt.
func (v State) Restarted(now time.Time) State {
	fresh := New(v.turn, v.Lang, now)
	fresh.began, fresh.context, fresh.answer = v.began, v.context, v.answer.emptied()
	fresh.waited = v.waited
	return fresh
}

// WithAnswer returns the state with this answer, each part in a message of its own.
func (v State) WithAnswer(parts ...string) State {
	v.answer = newAnswer(parts)
	return v
}

// Finish returns the state of an ended turn. If there was no text after the last decision, the end is shown below it.
func (v State) Finish(o Outcome) State {
	v.outcome = o
	if o.State == convo.Done || o.State == convo.Failed {
		v.answer = v.answer.startMessage(len(v.answer.blocks), v.asks > 0)
	}
	return v
}

// WithFollowUp returns the state of an ended turn whose background work continues.
func (v State) WithFollowUp() State {
	v.worksOn = true
	return v
}

// WithSuggestion returns the state with a suggested next question.
func (v State) WithSuggestion(question string) State {
	v.suggests = question
	return v
}

// Answer is the agent's answer.
func (v State) Answer() string { return v.answer.text() }

// Parts are the messages of the answer. All but the last are complete.
func (v State) Parts() []string { return v.answer.parts() }

// maxThoughts limits the stored thoughts, in bytes.
const maxThoughts = 8 << 10

// lastOf returns the end of a text, at most that many bytes, in whole lines if possible. The end is the agent's current
// thought.
func lastOf(text string, most int) string {
	if len(text) <= most {
		return text
	}
	text = text[len(text)-most:]
	if _, rest, ok := strings.Cut(text, "\n"); ok {
		return rest
	}
	// Not within a word, which may be a key that would not be known by its end.
	if i := strings.IndexFunc(text, func(r rune) bool { return r <= ' ' || r >= utf8.RuneSelf }); i >= 0 {
		text = text[i:]
	}
	return strings.ToValidUTF8(text, "")
}
