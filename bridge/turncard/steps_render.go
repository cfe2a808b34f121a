package turncard

import (
	"slices"
	"strings"

	"magpie/internal/agenttools"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/claude/workspace"
	"magpie/internal/i18n"
)

// Limits of the panel of steps.
const (
	panelLength = 2200 // bytes of its text
	maxDetails  = 4    // the newest steps, shown with details
	maxNames    = 3    // tool names in the title
)

// title names the tools that were used.
func (ss steps) title(l i18n.Lang) string {
	var names []string
	for _, s := range ss {
		if name := stepName(s.tool, l); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	more := ""
	if len(names) > maxNames {
		names, more = names[:maxNames], "…"
	}
	return i18n.CardSteps.Sprintf(l, len(ss)) + " · " +
		strings.Join(names, i18n.Enumeration.In(l)) + more
}

// toolWords are the texts for a tool: its status while it runs, and its name.
type toolWords struct{ status, name i18n.Phrase }

// ownTools are this program's tools, and those of the CLI that only ask people something.
var ownTools = map[string]toolWords{
	agenttools.Prefix + "remember":       {i18n.Remembering, i18n.CardRemember},
	agenttools.Prefix + "search_memory":  {i18n.LookingBack, i18n.CardLookBack},
	agenttools.Prefix + "search_history": {i18n.LookingBack, i18n.CardLookBack},
	agenttools.Prefix + "send_file":      {i18n.SendingFile, i18n.CardSendFile},
	claude.QuestionTool:                  {i18n.CardAsking, i18n.CardQuestion},
	claude.FormTool:                      {i18n.CardAsking, i18n.CardQuestion},
	claude.PlanTool:                      {i18n.CardPlanning, i18n.CardPlan},
	addition:                             {i18n.Thinking, i18n.CardAddition},
}

// cliTools are the CLI's own tools.
var cliTools = map[string]toolWords{
	"Bash": {i18n.RunningCommand, i18n.CardCommand},
	"Read": {i18n.ReadingFile, i18n.CardRead}, "Write": {i18n.WritingFile, i18n.CardWrite},
	"Edit": {i18n.EditingFile, i18n.CardEdit}, "MultiEdit": {i18n.EditingFile, i18n.CardEdit},
	"NotebookEdit": {i18n.EditingFile, i18n.CardEdit},
	"Grep":         {i18n.SearchingFiles, i18n.CardSearch}, "Glob": {i18n.SearchingFiles, i18n.CardSearch},
	"WebFetch": {i18n.OpeningPage, i18n.CardPage}, "WebSearch": {i18n.SearchingWeb, i18n.CardWebSearch},
	"Task": {i18n.Delegating, i18n.CardSubtask}, "Agent": {i18n.Delegating, i18n.CardSubtask},
	"TodoWrite": {i18n.ListingTasks, i18n.CardTasks}, "TaskCreate": {i18n.ListingTasks, i18n.CardTasks},
	"TaskUpdate": {i18n.ListingTasks, i18n.CardTasks},
	"Skill":      {i18n.UsingSkill, i18n.CardSkill},
}

// internalTools only prepare the CLI for what comes next, which a card shows anyway.
var internalTools = []string{"ToolSearch", "EnterPlanMode", "TaskGet", "TaskList"}

// stepName is the name of a step's tool for those who only read along.
func stepName(tool string, l i18n.Lang) string {
	if words, ok := cliTools[tool]; ok {
		return words.name.In(l)
	}
	return ToolName(tool, l)
}

// ToolName is the name of a tool for people who decide about it: of the CLI's own tools, the one that rules name.
func ToolName(tool string, l i18n.Lang) string {
	if own, ok := ownTools[tool]; ok {
		return own.name.In(l)
	}
	if server, name, ok := workspace.ServerTool(tool); ok {
		return server + ": " + strings.ReplaceAll(name, "_", " ")
	}
	return strings.TrimPrefix(tool, "mcp__")
}

// runningStatus is the status while a tool runs, and the tool's name if the status contains it.
func runningStatus(tool string, l i18n.Lang) (status i18n.Phrase, name string) {
	if own, ok := ownTools[tool]; ok {
		return own.status, ""
	}
	if words, ok := cliTools[tool]; ok {
		return words.status, ""
	}
	return i18n.UsingTool, ToolName(tool, l)
}

// preparingStatus is the status while the model writes a tool's input.
func preparingStatus(tool string, l i18n.Lang) (status i18n.Phrase, name string) {
	if tool == "Bash" {
		return i18n.PreparingCommand, ""
	}
	if _, known := cliTools[tool]; known {
		return runningStatus(tool, l)
	}
	return i18n.CardPreparing, stepName(tool, l)
}

// body shows the steps, oldest first: the newest with details, and as many older ones as fit.
func (ss steps) body(l i18n.Lang) string {
	var parts []string
	length := 0
	for i, s := range slices.Backward(ss) {
		text := s.summary(l)
		if len(ss)-i <= maxDetails {
			text += s.details()
		}
		if length += len(text) + 2; length > panelLength && len(parts) > 0 {
			parts = append(parts, i18n.CardMoreSteps.Sprintf(l, i+1))
			break
		}
		parts = append(parts, text)
	}
	slices.Reverse(parts)
	return strings.Join(parts, "\n\n")
}

// summary shows a step in one line.
func (s step) summary(l i18n.Lang) string {
	mark := chat.StepDone
	switch {
	case s.ended.IsZero():
		mark = chat.StepRuns
	case s.failed:
		mark = chat.StepFailed
	}
	text := mark + " **" + stepName(s.tool, l) + "**"
	// A backquote would end the inline code.
	if s.input != "" {
		text += " `" + strings.ReplaceAll(s.input, "`", "'") + "`"
	}
	if !s.ended.IsZero() && s.tool != addition {
		text += " " + i18n.Duration(s.ended.Sub(s.began), l)
	}
	return text
}

// details are the change or the result of a step.
func (s step) details() string {
	text := ""
	if s.diff != "" {
		text = "\n" + i18n.CodeBlock("diff", s.diff)
	}
	// The result of a successful edit only repeats the file.
	if s.result != "" && (s.diff == "" || s.failed) {
		text += "\n" + i18n.CodeBlock("", s.result)
	}
	return text
}
