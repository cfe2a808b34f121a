package bridge

import (
	"fmt"
	"slices"
	"strings"

	"magpie/internal/agenttools"
)

// What a panel shows of the steps.
const (
	panelLength = 2200 // bytes of its text
	mostDetails = 4    // steps, the newest, that are shown with what they did
	mostNames   = 3    // of tools in the title
)

// title names the tools that were used.
func (ss steps) title(l lang) string {
	var names []string
	for _, s := range ss {
		if name := toolName(s.tool, l); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > mostNames {
		names = append(names[:mostNames:mostNames], "…")
	}
	return fmt.Sprintf(cardTexts.Steps.in(l), len(ss)) + " · " + strings.Join(names, " / ")
}

// toolName is how people are told of a tool.
func toolName(tool string, l lang) string {
	own, ok := strings.CutPrefix(tool, "mcp__"+agenttools.ServerName+"__")
	switch {
	case !ok:
		return strings.TrimPrefix(tool, "mcp__")
	case own == "remember":
		return cardTexts.Remember.in(l)
	}
	return cardTexts.LookBack.in(l)
}

// body shows the steps, oldest first: the newest in detail, and of the older ones as many as there is room for.
func (ss steps) body(l lang) string {
	var parts []string
	length := 0
	for i, s := range slices.Backward(ss) {
		text := s.head(l)
		if len(ss)-i <= mostDetails {
			text += s.details()
		}
		if length += len(text) + 2; length > panelLength && len(parts) > 0 {
			parts = append(parts, fmt.Sprintf(cardTexts.MoreSteps.in(l), i+1))
			break
		}
		parts = append(parts, text)
	}
	slices.Reverse(parts)
	return strings.Join(parts, "\n\n")
}

// head is a step in one line.
func (s step) head(l lang) string {
	mark := "✓"
	switch {
	case s.ended.IsZero():
		mark = "▸"
	case s.failed:
		mark = "✗"
	}
	text := mark + " **" + toolName(s.tool, l) + "**"
	if s.input != "" {
		text += " `" + strings.ReplaceAll(s.input, "`", "'") + "`"
	}
	if !s.ended.IsZero() {
		text += " " + lasting(s.ended.Sub(s.began), l)
	}
	return text
}

// details are what a step changed, or gave.
func (s step) details() string {
	text := ""
	if s.diff != "" {
		text = "\n" + fenced("diff", s.diff)
	}
	if s.result != "" && (s.diff == "" || s.failed) {
		text += "\n" + fenced("", s.result)
	}
	return text
}
