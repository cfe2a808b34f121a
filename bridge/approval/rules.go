package approval

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"magpie/bridge/i18n"
	"magpie/db"
	"magpie/internal/agenttools"
	"magpie/internal/claude"
	"magpie/internal/safepath"
)

// OnlyReads reports whether a tool only reads within a project.
func OnlyReads(q claude.ToolAsk, dir string) bool {
	if !slices.Contains([]string{"Read", "Grep", "Glob"}, q.Name) {
		return false
	}
	path, ok := fileOf(q.Name, q.Input, dir)
	return ok && safepath.Contains(dir, path)
}

// IsInternal reports whether a tool only affects the agent's own notes, or belongs to this program, whose tools have
// rules of their own.
func IsInternal(tool string) bool {
	return strings.HasPrefix(tool, agenttools.Prefix) || slices.Contains([]string{
		"EnterPlanMode", "TodoWrite", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "ToolSearch",
	}, tool)
}

// PermitFor is the rule that "always" creates for a request: as narrow as makes sense. Nil = such requests are asked
// each time.
func PermitFor(q claude.ToolAsk, dir string) *db.Permit {
	p := db.Permit{Tool: q.Name}
	switch q.Name {
	case claude.QuestionTool, claude.FormTool, claude.PlanTool:
		return nil
	case "Bash":
		in, ok := plainCommand(q.Input)
		if !ok || !isSingleCommand(in) {
			return nil
		}
		p.Kind, p.Content = db.ExactRule, in
		if prefix, ok := prefixOf(in, q.Rules); ok {
			p.Kind, p.Content = db.PrefixRule, prefix
		}
	case "Write", "Edit", "NotebookEdit", "Read", "Grep", "Glob":
		path, ok := plainFile(q.Name, q.Input, dir)
		switch {
		case !ok:
			return nil
		case safepath.Contains(dir, path):
			p.Kind = db.InsideRule
		default:
			p.Kind, p.Content = db.PathRule, path
		}
	case "WebFetch":
		host, ok := hostOf(q.Name, q.Input)
		if !ok {
			return nil
		}
		p.Kind, p.Content = db.HostRule, host
	default:
		if !slices.Contains(q.Rules, claude.Rule{Tool: q.Name}) { // the CLI itself proposes no rule
			return nil
		}
		p.Kind = db.ToolRule
	}
	return &p
}

// Covers reports whether a rule allows a tool call in its project.
func Covers(p db.Permit, tool string, input json.RawMessage, dir string) bool {
	if p.Tool != tool {
		return false
	}
	switch p.Kind {
	case db.ExactRule:
		command, ok := plainCommand(input)
		// A rule never covers a command that consists of several, since it was shown as one.
		return ok && command == p.Content && isSingleCommand(command)
	case db.PrefixRule:
		command, ok := plainCommand(input)
		return ok && matchesPrefix(command, p.Content)
	case db.PathRule:
		path, ok := plainFile(tool, input, dir)
		return ok && path == p.Content
	case db.InsideRule:
		path, ok := plainFile(tool, input, dir)
		return ok && safepath.Contains(dir, path)
	case db.HostRule:
		host, ok := hostOf(tool, input)
		return ok && host == p.Content
	case db.ToolRule:
		return true
	}
	return false
}

// plainCommand returns the command of a Bash call, if no other member changes how it is run: a rule does not cover a
// background call, for example.
func plainCommand(input json.RawMessage) (string, bool) {
	var in map[string]json.RawMessage
	if err := json.Unmarshal(input, &in); err != nil {
		return "", false
	}
	for name := range in {
		if name != "command" && name != "description" && name != "timeout" {
			return "", false
		}
	}
	var command string
	err := json.Unmarshal(in["command"], &command)
	return command, err == nil && strings.TrimSpace(command) != ""
}

// fileOf is the file or folder that a tool call names, with links resolved.
func fileOf(tool string, input json.RawMessage, dir string) (string, bool) {
	path, ok := pathOf(tool, input, dir)
	if !ok {
		return "", false
	}
	return safepath.Follow(path)
}

// plainFile is fileOf for files that are not guarded, neither by name nor by target.
func plainFile(tool string, input json.RawMessage, dir string) (string, bool) {
	path, ok := pathOf(tool, input, dir)
	if !ok || isGuarded(path, dir) {
		return "", false
	}
	real, ok := safepath.Follow(path)
	return real, ok && !isGuarded(real, dir)
}

// pathOf is the path in a tool call. A search without a folder covers the whole project.
func pathOf(tool string, input json.RawMessage, dir string) (string, bool) {
	in, err := readInput(tool, input)
	path := cmp.Or(in.File, in.Notebook, in.Path) // a tool has one of them
	if path == "" && (tool == "Grep" || tool == "Glob") {
		path = dir
	}
	if err != nil || path == "" || tool == "Glob" && leavesFolder(in.Pattern) {
		return "", false
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.Clean(path), true
}

// hostOf returns the host of a fetched page. URLs with a user name are excluded, because the part before the @ can look
// like a host.
func hostOf(tool string, input json.RawMessage) (string, bool) {
	in, err := readInput(tool, input)
	if err != nil {
		return "", false
	}
	u, err := url.Parse(in.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return "", false
	}
	return strings.ToLower(u.Host), true
}

// scopeText describes what a rule allows.
func scopeText(p db.Permit, l i18n.Lang) string {
	content := i18n.InlineCode(p.Content)
	switch p.Kind {
	case db.ExactRule:
		return i18n.ScopeExact.In(l)
	case db.PrefixRule:
		return fmt.Sprintf(i18n.ScopePrefix.In(l), content)
	case db.PathRule:
		return fmt.Sprintf(i18n.ScopePath.In(l), p.Tool, content)
	case db.InsideRule:
		return fmt.Sprintf(i18n.ScopeInside.In(l), p.Tool)
	case db.HostRule:
		return fmt.Sprintf(i18n.ScopeHost.In(l), content)
	}
	return fmt.Sprintf(i18n.ScopeTool.In(l), i18n.Visible(p.Tool))
}

// RuleText describes a rule in a list: its scope, and the command itself if the rule is for one exact command.
func RuleText(p db.Permit, l i18n.Lang) string {
	if p.Kind == db.ExactRule {
		return i18n.InlineCode(i18n.FirstLine(p.Content))
	}
	return scopeText(p, l)
}
