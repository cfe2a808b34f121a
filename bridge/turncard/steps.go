package turncard

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"magpie/contextmgr/redact"
	"magpie/internal/claude"
	"magpie/internal/i18n"
	"magpie/internal/text"
)

// step is one tool call. Its parts of the tool's input and result are short and without secrets.
type step struct {
	id, tool string
	input    string // one line
	diff     string // of an edited file; empty = the tool edits none
	result   string // a few lines
	failed   bool
	refused  bool // by people; the tool's result is then only for the agent
	began    time.Time
	ended    time.Time // zero = still running
}

// steps are the tool calls of one turn, oldest first: an immutable value.
type steps []step

// withStart returns the steps after the start of a tool.
func (ss steps) withStart(e claude.ToolUse, now time.Time) steps {
	if slices.Contains(internalTools, e.Name) || slices.ContainsFunc(ss, func(s step) bool { return s.id == e.ID }) {
		return ss
	}
	return append(
		slices.Clone(ss), step{id: e.ID, tool: e.Name, input: InputLine(e.Input), diff: diffOf(e.Input), began: now},
	)
}

// addition is the tool name of a step in which the agent reads a steered message.
const addition = "magpie:addition"

// withAddition returns the steps after the agent has read a message.
func (ss steps) withAddition(text string, now time.Time) steps {
	text = i18n.Excerpt(i18n.Visible(redactedPrefix(text)), maxInput)
	return append(slices.Clone(ss), step{tool: addition, input: text, began: now, ended: now})
}

// withResult returns the steps after a tool result.
func (ss steps) withResult(e claude.ToolResult, now time.Time) steps {
	i := slices.IndexFunc(ss, func(s step) bool { return s.id == e.ID })
	if i < 0 {
		return ss
	}
	// Cloned, because the painter may be reading the previous state.
	ss = slices.Clone(ss)
	ss[i].ended, ss[i].failed = now, e.Failed
	if !ss[i].refused {
		ss[i].result = resultLines(e.Text)
	}
	return ss
}

// withDenial returns the steps after people have refused a tool.
func (ss steps) withDenial(e claude.ToolDenied) steps {
	i := slices.IndexFunc(ss, func(s step) bool { return s.id == e.ID && s.ended.IsZero() })
	if i < 0 {
		return ss
	}
	ss = slices.Clone(ss)
	ss[i].refused = true
	return ss
}

// oldestRunning is the oldest unfinished step; nil = none.
func (ss steps) oldestRunning() *step {
	i := slices.IndexFunc(ss, func(s step) bool { return s.ended.IsZero() })
	if i < 0 {
		return nil
	}
	return &ss[i]
}

// Limits of a step.
const (
	maxRead    = 4 << 10 // bytes read of an input or a result
	maxInput   = 120     // runes
	maxLines   = 3       // of a result
	maxColumns = 100     // runes of a line
	maxDiff    = 16      // lines
)

// redactedPrefix is the beginning of an untrusted text, without keys, passwords, and what only a terminal understands.
func redactedPrefix(s string) string {
	if len(s) <= maxRead {
		return redact.Text(text.Plain(s), redact.Keys)
	}
	s, _ = redact.Growing{}.Next(text.Plain(strings.ToValidUTF8(s[:maxRead], "")), redact.Keys)
	return s
}

// stepInput has the members of tool inputs that a card shows. Tools of the CLI share member names.
type stepInput struct {
	Command, Pattern, URL, Query, Title, Description, Skill, Plan, Prompt string

	Path         string
	FilePath     string `json:"file_path"`
	NotebookPath string `json:"notebook_path"`
	Questions    []struct{ Question string }
	Todos        []struct{ Content, Status string }
}

// InputLine shows a tool's input in one line.
func InputLine(input json.RawMessage) string {
	var in stepInput
	_ = json.Unmarshal(input, &in) // other input is shown below as it is
	text := in.line()
	if text == "" {
		text = strings.Trim(string(input), "{} \n")
	}
	if text == "null" {
		return ""
	}
	return i18n.Excerpt(i18n.Visible(redactedPrefix(text)), maxInput)
}

// line is the most important part of an input; empty = unknown.
func (in stepInput) line() string {
	if len(in.Questions) > 0 {
		return in.Questions[0].Question
	}
	done := 0
	for _, t := range in.Todos {
		switch t.Status {
		case "in_progress":
			in.Title = t.Content
		case "completed":
			done++
		}
	}
	if len(in.Todos) > 0 {
		return fmt.Sprintf("%d/%d %s", done, len(in.Todos), in.Title)
	}
	// In this order: the first member that is set says most about what the tool does.
	return cmp.Or(in.Command, shortPath(in.FilePath), shortPath(in.NotebookPath), in.Pattern, in.URL, in.Query, in.Title,
		in.Description, in.Skill, in.Plan, in.Prompt, shortPath(in.Path))
}

// shortPath is the end of a path; its location on this machine is of no interest to a chat.
func shortPath(path string) string {
	if parts := strings.Split(filepath.ToSlash(path), "/"); len(parts) > 3 {
		return "…/" + strings.Join(parts[len(parts)-3:], "/")
	}
	return path
}

// resultLines are the first lines of a tool's result.
func resultLines(text string) string {
	var lines []string
	more := false
	for l := range strings.Lines(redactedPrefix(text)) {
		switch l = strings.TrimRight(l, " \t\r\n"); {
		case l == "":
		case len(lines) == maxLines:
			more = true
		default:
			lines = append(lines, codeLine(l))
		}
	}
	if more {
		lines = append(lines, "…")
	}
	return strings.Join(lines, "\n")
}

// codeLine shortens a line of code.
func codeLine(l string) string {
	shown := strings.Map(func(r rune) rune {
		if !text.IsInvisible(r) {
			return r
		}
		return -1
	}, strings.ReplaceAll(l, "\t", "    "))
	return i18n.Truncate(shown, maxColumns)
}

// edit is the part of a tool's input that changes a text.
type edit struct {
	Old     string `json:"old_string"`
	New     string `json:"new_string"`
	Content string `json:"content"`
}

// diffOf shows the change of a tool that edits a file; empty = it edits none.
func diffOf(input json.RawMessage) string {
	var in struct {
		edit
		FilePath string `json:"file_path"`
		Edits    []edit `json:"edits"`
	}
	if json.Unmarshal(input, &in) != nil || in.FilePath == "" {
		return ""
	}
	var lines []string
	for _, e := range append([]edit{in.edit}, in.Edits...) {
		lines = append(lines, e.lines()...)
	}
	if len(lines) > maxDiff {
		lines = append(lines[:maxDiff:maxDiff], fmt.Sprintf("… %d", len(lines)-maxDiff))
	}
	return strings.Join(lines, "\n")
}

// lines returns the lines of a diff without the common beginning and end. The CLI's edits include context lines, which
// would hide the change.
func (e edit) lines() []string {
	before, after := splitLines(e.Old), splitLines(e.New+e.Content)
	for len(before) > 0 && len(after) > 0 && before[0] == after[0] {
		before, after = before[1:], after[1:]
	}
	for len(before) > 0 && len(after) > 0 && before[len(before)-1] == after[len(after)-1] {
		before, after = before[:len(before)-1], after[:len(after)-1]
	}
	var lines []string
	for _, l := range before {
		lines = append(lines, "-"+codeLine(l))
	}
	for _, l := range after {
		lines = append(lines, "+"+codeLine(l))
	}
	return lines
}

func splitLines(text string) []string {
	text = strings.TrimSuffix(redactedPrefix(text), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
