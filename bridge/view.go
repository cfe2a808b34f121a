package bridge

import (
	"fmt"
	"slices"
	"strings"

	"magpie/db"
	"magpie/internal/chat"
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
	turn   int64
	lang   lang
	status phrase   // what goes on now; its %s is tool
	tool   string   // the tool that runs
	blocks []string // the answer
	denied []string // tools that were refused
	notice string   // how it ended, if not well
	state  db.TurnState
}

func newView(turn int64, l lang) view { return view{turn: turn, lang: l, status: texts.Thinking} }

// apply is the view after an event. It does not change v.
func (v view) apply(ev claude.Event) view {
	switch e := ev.(type) {
	case claude.Started, claude.Thinking:
		v.status, v.tool = texts.Thinking, ""
	case claude.Text:
		v.status, v.tool = texts.Thinking, ""
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
	case claude.ToolUse:
		v.status, v.tool = using(e.Name)
	case claude.ToolResult:
		v.status, v.tool = texts.Thinking, ""
	case claude.ToolDenied:
		if !slices.Contains(v.denied, e.Name) {
			v.denied = append(slices.Clone(v.denied), e.Name)
		}
	case claude.Retrying:
		v.status, v.tool = texts.Retrying, ""
	case claude.Compacting:
		v.status, v.tool = texts.Compacting, ""
	case claude.Result:
		if v.answer() == "" && e.Failure == "" && e.Text != "" {
			v.blocks = []string{e.Text} // the CLI itself answered
		}
	}
	return v
}

// waiting is the view of a turn that waits for a free process.
func (v view) waiting() view {
	v.status, v.tool = texts.Waiting, ""
	return v
}

// tidying is the view of a turn that waits for a summary of what was said before.
func (v view) tidying() view {
	v.status, v.tool = texts.Compacting, ""
	return v
}

// receiving is the view of a turn that waits for what was sent with its question.
func (v view) receiving() view {
	v.status, v.tool = inputTexts.Receiving, ""
	return v
}

// restarted is the view of a turn that begins again: what was shown of the first try is void.
func (v view) restarted() view {
	v.status, v.tool, v.blocks, v.denied = texts.Thinking, "", nil, nil
	return v
}

// saying is the view with this answer.
func (v view) saying(answer string) view {
	v.blocks = []string{answer}
	return v
}

// end is the view of a turn that is over. notice is empty when it went well.
func (v view) end(state db.TurnState, notice phrase) view {
	v.state, v.notice = state, notice.in(v.lang)
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

// summaryLength is how much of an answer the chat list shows, in runes.
const summaryLength = 60

// card draws the view.
func (v view) card() chat.Card {
	c := chat.Card{Body: v.answer(), Live: v.state == ""}
	if len(v.denied) > 0 {
		c.Footer = fmt.Sprintf(texts.Denied.in(v.lang), strings.Join(v.denied, ", "))
	}
	if c.Live {
		c.Status = v.status.in(v.lang)
		if v.tool != "" {
			c.Status = fmt.Sprintf(c.Status, v.tool)
		}
		c.Summary = c.Status
		c.Buttons = []chat.Button{v.button(texts.StopButton, doStop)}
		c.Buttons[0].Danger = true
		return c
	}
	switch {
	case c.Body == "" && v.notice != "":
		c.Body = v.notice
	case c.Body == "":
		c.Body = texts.NoAnswer.in(v.lang)
	default:
		c.Status = v.notice
	}
	if v.state == db.Interrupted {
		c.Buttons = []chat.Button{v.button(texts.ContinueButton, doContinue), v.button(texts.DropButton, doDrop)}
	}
	c.Summary = firstLine(c.Body)
	return c
}

func (v view) button(label phrase, do string) chat.Button {
	return chat.Button{Label: label.in(v.lang), Action: chat.Action{Do: do, Turn: v.turn}}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if r := []rune(line); len(r) > summaryLength {
		return string(r[:summaryLength]) + "…"
	}
	return line
}
