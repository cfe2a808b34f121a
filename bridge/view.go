package bridge

import (
	"slices"
	"strings"
	"time"

	"magpie/bridge/i18n"
	"magpie/internal/claude"
)

// What the buttons of a card do.
const (
	doStop     = "stop"
	doContinue = "continue" // go on with an interrupted turn
	doDrop     = "drop"     // leave it
)

// view is what a turn looks like so far: a value. Events change it by apply; card draws it.
type view struct {
	turn     int64
	lang     i18n.Lang
	phase    phase
	asks     int // questions to people that are open
	steps    steps
	thoughts string   // the end of what the model has thought
	blocks   []string // the answer
	denied   []string // tools that were refused
	began    time.Time
	figures  figures // what the turn took; known at its end
	context  string  // what the agent was told beside the question
	outcome  outcome // zero while it runs
}

// phase is what goes on in a turn that runs.
type phase struct {
	text  i18n.Phrase // its %s is tool
	tool  string
	since time.Time // of an answer that is being written: since its last piece
}

// newView is the view of a turn that has just begun.
func newView(turn int64, l i18n.Lang, now time.Time) view {
	return view{turn: turn, lang: l, phase: phase{text: i18n.Thinking, since: now}, began: now}
}

// apply is the view after an event. It does not change v.
func (v view) apply(ev claude.Event, now time.Time) view {
	switch e := ev.(type) {
	case claude.Started:
		return v.thinking(now)
	case claude.Thinking:
		v.thoughts = lastOf(v.thoughts+e.Text, mostThoughts)
		return v.thinking(now)
	case claude.Text:
		v.phase = phase{text: i18n.CardWriting, since: now}
		v.blocks = slices.Clone(v.blocks)
		for len(v.blocks) <= e.Block {
			v.blocks = append(v.blocks, "")
		}
		if e.Whole {
			v.blocks[e.Block] = ""
		}
		v.blocks[e.Block] += e.Text
	case claude.Rewind:
		v.blocks = v.blocks[:min(e.Block, len(v.blocks)):min(e.Block, len(v.blocks))]
	case claude.ToolCall:
		if v.asks == 0 && v.steps.running() == nil {
			v.phase = phase{text: i18n.CardPreparing, tool: toolName(e.Name, v.lang), since: now}
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
		if v.answer() == "" && e.Failure == "" && e.Text != "" {
			v.blocks = []string{e.Text} // the CLI itself answered
		}
	}
	return v
}

// thinking is the view of a turn in which the model thinks.
func (v view) thinking(now time.Time) view {
	if v.phase.text != i18n.Thinking {
		v.phase = phase{text: i18n.Thinking, since: now}
	}
	return v
}

// running is the view of a turn with the tool that has run for longest, unless people are asked something.
func (v view) running(now time.Time) view {
	if v.asks > 0 {
		return v
	}
	s := v.steps.running()
	if s == nil {
		return v.thinking(now)
	}
	v.phase = phase{since: s.began}
	v.phase.text, v.phase.tool = using(s.tool, v.lang)
	return v
}

// waiting is the view of a turn that waits for a free process.
func (v view) waiting(now time.Time) view {
	v.phase = phase{text: i18n.Waiting, since: now}
	return v
}

// tidying is the view of a turn that waits for a summary of what was said before.
func (v view) tidying(now time.Time) view {
	v.phase = phase{text: i18n.Compacting, since: now}
	return v
}

// given is the view of a turn whose agent was told this beside the question.
func (v view) given(context string) view {
	v.context = context
	return v
}

// receiving is the view of a turn that waits for what was sent with its question.
func (v view) receiving(now time.Time) view {
	v.phase = phase{text: i18n.Receiving, since: now}
	return v
}

// restarted is the view of a turn that begins again: what was shown of the first try is void.
func (v view) restarted(now time.Time) view {
	fresh := newView(v.turn, v.lang, now)
	fresh.began, fresh.context = v.began, v.context
	return fresh
}

// saying is the view with this answer.
func (v view) saying(answer string) view {
	v.blocks = []string{answer}
	return v
}

// end is the view of a turn that is over.
func (v view) end(o outcome) view {
	v.outcome = o
	return v
}

// answer is what the agent said.
func (v view) answer() string {
	parts := make([]string, 0, len(v.blocks))
	for _, block := range v.blocks {
		if strings.TrimSpace(block) != "" {
			parts = append(parts, block)
		}
	}
	return strings.Join(parts, "\n\n")
}

// mostThoughts is how much of what the model thinks is kept, in bytes.
const mostThoughts = 8 << 10

// lastOf is the end of a text: whole lines of it, if there are any, of so many bytes at most.
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
