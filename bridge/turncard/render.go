package turncard

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"magpie/bridge/i18n"
	"magpie/contextmgr/redact"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

// Card draws the state as it looks at this time: running turns show how long they have taken.
func (v State) Card(now time.Time) chat.Card {
	c := chat.Card{Body: v.Answer(), Live: v.outcome.State == "", Panels: v.panels()}
	if c.Live {
		c.Status = v.stateLine(now)
		c.Summary = v.phase.in(v.Lang)
		stop := v.button(i18n.StopButton, DoStop)
		stop.Danger = true
		c.Buttons = []chat.Button{stop}
		c.Footer = v.deniedLine()
		return c
	}
	notice := v.outcome.Notice.In(v.Lang)
	// Without an answer the notice takes its place, so that the card is not empty.
	switch {
	case c.Body == "" && notice != "":
		c.Body = notice
	case c.Body == "":
		c.Body = i18n.NoAnswer.In(v.Lang)
	default:
		c.Status = notice
	}
	c.Buttons = v.offers()
	c.Footer = v.footer()
	c.Summary = i18n.FirstLine(c.Body)
	return c
}

func (v State) button(label i18n.Phrase, do string) chat.Button {
	return chat.Button{Label: label.In(v.Lang), Action: chat.Action{Do: do, Turn: v.turn}}
}

// in says what goes on.
func (p phase) in(l i18n.Lang) string {
	if p.tool == "" {
		return p.text.In(l)
	}
	return fmt.Sprintf(p.text.In(l), p.tool)
}

// tick is how coarse the time in a state line is: each change of it costs the platform a call.
func tick(d time.Duration) time.Duration {
	switch {
	case d < time.Minute:
		return 5 * time.Second
	case d < 5*time.Minute:
		return 15 * time.Second
	}
	return time.Minute
}

// stateLine says what goes on, and for how long.
func (v State) stateLine(now time.Time) string {
	text := v.phase.in(v.Lang)
	took := now.Sub(v.phase.since)
	if took = took.Truncate(tick(took)); took <= 0 {
		return text
	}
	return text + " " + i18n.Duration(took, v.Lang)
}

// changes is how long it takes until the card looks different although nothing has happened; 0 = it will not.
func (v State) changes(now time.Time) time.Duration {
	if v.outcome.State != "" {
		return 0
	}
	took := max(now.Sub(v.phase.since), 0)
	return took.Truncate(tick(took)) + tick(took) - took
}

// panels are what a reader can unfold.
func (v State) panels() []chat.Panel {
	var list []chat.Panel
	if len(v.steps) > 0 {
		list = append(list, chat.Panel{Title: v.steps.title(v.Lang), Body: v.steps.body(v.Lang)})
	}
	if thoughts := strings.TrimSpace(redact.Text(v.thoughts, secrets)); thoughts != "" {
		list = append(list, chat.Panel{Title: i18n.CardThoughts.In(v.Lang), Body: lastOf(thoughts, panelLength)})
	}
	return list
}

func (v State) deniedLine() string {
	if len(v.denied) == 0 {
		return ""
	}
	names := make([]string, len(v.denied))
	for i, tool := range v.denied {
		names[i] = ToolName(tool, v.Lang)
	}
	return fmt.Sprintf(i18n.Denied.In(v.Lang), strings.Join(names, i18n.Listing.In(v.Lang)))
}

// footer is the small print below an answer.
func (v State) footer() string {
	parts := append([]string{v.deniedLine()}, v.figures.parts(v.Lang)...)
	parts = append(parts, v.context)
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · ")
}

// figures are what a turn took, as the agent reported it.
type figures struct {
	model        string
	took         time.Duration
	in, out      int64 // tokens
	cost         float64
	held, window int64 // tokens that the session holds, and could hold; 0 = not known
}

// figuresOf counts cached input as input: for the context window it makes no difference where a token came from.
func figuresOf(r claude.Result, took time.Duration) figures {
	return figures{
		model: r.Model, took: took, in: r.Usage.Input + r.Usage.CacheRead + r.Usage.CacheNew, out: r.Usage.Output,
		cost: r.CostUSD, held: r.Held, window: r.Window,
	}
}

// parts leaves out every figure that the CLI did not report, instead of showing a zero that would be wrong.
func (f figures) parts(l i18n.Lang) []string {
	if f == (figures{}) {
		return nil
	}
	parts := []string{i18n.Duration(max(f.took, time.Second), l)}
	if f.model != "" {
		name, _, _ := strings.Cut(f.model, "[") // what follows is the size of its window
		parts = append(parts, name)
	}
	if f.in+f.out > 0 {
		parts = append(parts, fmt.Sprintf(i18n.CardTokens.In(l), i18n.Count(f.in), i18n.Count(f.out)))
	}
	if f.cost > 0 {
		parts = append(parts, i18n.USD(f.cost))
	}
	if f.held > 0 && f.window > 0 {
		parts = append(parts, fmt.Sprintf(i18n.CardWindow.In(l), max(1, 100*f.held/f.window)))
	}
	return parts
}
