package turncard

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"magpie/contextmgr/redact"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/claude/workspace"
	"magpie/internal/convo"
	"magpie/internal/i18n"
	"magpie/internal/text"
)

// Card renders the state at this time: running turns show their elapsed time.
func (v State) Card(now time.Time) chat.Card {
	parts := v.Parts()
	c := chat.Card{Body: parts[len(parts)-1], Live: v.outcome.State == 0, Panels: v.panels()}
	for _, part := range parts[:len(parts)-1] {
		c.Earlier = append(c.Earlier, chat.Part{Body: part, Status: i18n.CardGoesOnBelow.In(v.Lang)})
	}
	title, state := v.header()
	c.Title, c.State = title.In(v.Lang), state
	if c.Live {
		c.Status = v.phase.line(now, v.Lang)
		c.Summary = v.phase.describe(v.Lang)
		stop := turnButton(v.turn, v.Lang, i18n.StopButton, DoStop)
		stop.Danger = true
		c.Buttons = []chat.Button{stop}
		c.Footer = v.denied.line(v.Lang)
		return c
	}
	if v.outcome.State != convo.Done { // it may have been cut off within a key
		c.Body, _ = redact.Growing{}.Next(c.Body, redact.Keys)
	}
	notice := v.outcome.Notice.In(v.Lang)
	// Without an answer the notice takes its place, so that the card is not empty.
	switch {
	case c.Body == "" && notice != "":
		c.Body = notice
	case c.Body == "":
		c.Body = i18n.NoAnswer.In(v.Lang)
	case notice != c.Title:
		c.Status = notice
	}
	c.Buttons = v.buttons()
	c.Footer = v.footer()
	// details for readers who want them
	details := joinParts(append(v.figures.details(v.Lang), v.context))
	if v.outcome.Words != "" {
		says := i18n.ServerWords
		if v.outcome.Failure == string(claude.FailHook) {
			says = i18n.HookWords
		}
		details = strings.TrimSpace(says.Sprintf(v.Lang, i18n.InlineCode(v.outcome.Words)) + "\n" + details)
	}
	if details != "" {
		c.Panels = append(c.Panels, chat.Panel{Title: i18n.CardDetails.In(v.Lang), Body: details, Last: true})
	}
	c.Summary = i18n.FirstLine(c.Body)
	return c
}

// header is the title of the card, and what determines its color. It changes seldom: a change makes the platform redraw
// the whole card and collapse its panels.
func (v State) header() (i18n.Phrase, chat.CardState) {
	switch {
	case v.outcome.State != 0:
		return v.outcome.header()
	case v.asks > 0:
		return i18n.HeaderYourTurn, chat.CardNeedsYou
	case v.phase.text == i18n.Waiting:
		return i18n.HeaderQueued, chat.CardQueued
	}
	return i18n.HeaderRunning, chat.CardRunning
}

func (o Outcome) header() (i18n.Phrase, chat.CardState) {
	switch o.State {
	case convo.Queued:
		return i18n.HeaderQueued, chat.CardQueued
	case convo.Cancelled:
		return i18n.Stopped, chat.CardQueued
	case convo.Interrupted:
		return i18n.HeaderInterrupted, chat.CardNeedsYou
	case convo.Failed:
		return failedHeader(o.Failure)
	}
	if o.Notice != (i18n.Phrase{}) { // a turn with a notice was decided later
		return i18n.HeaderOver, chat.CardQueued
	}
	return i18n.HeaderDone, chat.CardDone
}

// failedHeader tells people whether they can fix a failure.
func failedHeader(failure string) (i18n.Phrase, chat.CardState) {
	switch failure {
	case string(claude.FailAuth):
		return i18n.HeaderLogin, chat.CardNeedsYou
	case FailBudget, string(claude.FailBilling), string(claude.FailLimit), string(claude.FailRateLimit):
		return i18n.HeaderLimit, chat.CardNeedsYou
	case string(claude.FailKey), string(claude.FailDenied), string(claude.FailAddress):
		return i18n.HeaderFailed, chat.CardNeedsYou
	}
	return i18n.HeaderFailed, chat.CardFailed
}

// turnButton makes a button for a turn.
func turnButton(turn int64, l i18n.Lang, label i18n.Phrase, do string) chat.Button {
	return chat.Button{Label: label.In(l), Action: chat.Action{Do: do, Turn: turn}}
}

// describe describes the phase.
func (p phase) describe(l i18n.Lang) string {
	if p.tool == "" {
		return p.text.In(l)
	}
	return fmt.Sprintf(p.text.In(l), p.tool)
}

// timeStep is the step of the time shown in a status line: each change costs a call to the platform.
func timeStep(d time.Duration) time.Duration {
	switch {
	case d < time.Minute:
		return 5 * time.Second
	case d < 5*time.Minute:
		return 15 * time.Second
	}
	return time.Minute
}

// line describes the phase and its elapsed time.
func (p phase) line(now time.Time, l i18n.Lang) string {
	text := p.describe(l)
	took := now.Sub(p.since)
	if took = took.Truncate(timeStep(took)); took <= 0 {
		return text
	}
	return text + " " + i18n.Duration(took, l)
}

// untilChange is the time until the line next changes by itself.
func (p phase) untilChange(now time.Time) time.Duration {
	took := max(now.Sub(p.since), 0)
	return took.Truncate(timeStep(took)) + timeStep(took) - took
}

// panels are the collapsible parts of the card.
func (v State) panels() []chat.Panel {
	var list []chat.Panel
	if len(v.steps) > 0 {
		list = append(list, chat.Panel{Title: v.steps.title(v.Lang), Body: v.steps.body(v.Lang)})
	}
	thoughts, _ := redact.Growing{}.Next(text.Plain(v.thoughts), redact.Keys)
	if thoughts = strings.TrimSpace(thoughts); thoughts != "" {
		list = append(list, chat.Panel{Title: i18n.CardThoughts.In(v.Lang), Body: lastOf(thoughts, panelLength)})
	}
	return list
}

// deniedTools are the refused tools.
type deniedTools []string

func (d deniedTools) line(l i18n.Lang) string {
	if len(d) == 0 {
		return ""
	}
	names := make([]string, len(d))
	for i, tool := range d {
		names[i] = ToolName(tool, l)
	}
	return fmt.Sprintf(i18n.Denied.In(l), strings.Join(names, i18n.Enumeration.In(l)))
}

// footer is the small print below an answer, for most readers.
func (v State) footer() string {
	parts := append([]string{v.denied.line(v.Lang)}, v.figures.parts(v.Lang)...)
	if v.worksOn {
		parts = append(parts, i18n.CardWorksOn.In(v.Lang))
	}
	return joinParts(parts)
}

func joinParts(parts []string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · ")
}

// figures are the statistics of a turn, as the agent reported them.
type figures struct {
	model        string
	took         time.Duration
	in, out      int64 // tokens
	cost         float64
	held, window int64 // tokens in the session, and its capacity; 0 = unknown
}

// figuresOf counts cached input as input: it takes the same room in the context window.
func figuresOf(r claude.Result, took time.Duration) figures {
	return figures{
		model: r.Model, took: took, in: r.Usage.Input + r.Usage.CacheRead + r.Usage.CacheNew, out: r.Usage.Output,
		cost: r.CostUSD, held: r.Held, window: r.Window,
	}
}

// parts omits every figure that the CLI did not report; a zero would be wrong.
func (f figures) parts(l i18n.Lang) []string {
	if f == (figures{}) {
		return nil
	}
	parts := []string{i18n.Duration(max(f.took, time.Second), l)}
	if f.model != "" {
		parts = append(parts, workspace.ModelName(f.model))
	}
	if f.cost != 0 {
		parts = append(parts, i18n.USD(f.cost, l))
	}
	return parts
}

func (f figures) details(l i18n.Lang) (parts []string) {
	if workspace.ModelName(f.model) != f.model {
		parts = append(parts, f.model)
	}
	if f.in+f.out > 0 {
		parts = append(parts, fmt.Sprintf(i18n.CardTokens.In(l), i18n.Count(f.in), i18n.Count(f.out)))
	}
	if f.held > 0 && f.window > 0 {
		parts = append(parts, fmt.Sprintf(i18n.CardWindow.In(l), max(1, 100*f.held/f.window)))
	}
	return parts
}
