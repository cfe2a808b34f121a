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

// IsInternal reports whether a tool neither reads nor changes anything but what the agent notes for itself, or
// is one of this program's own, which have rules of their own.
func IsInternal(tool string) bool {
	return strings.HasPrefix(tool, agenttools.Prefix) || slices.Contains([]string{
		"EnterPlanMode", "TodoWrite", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "ToolSearch",
	}, tool)
}

// PermitFor is what "always" stands for when an agent asks: as little as makes sense. Nil = it is asked each time.
func PermitFor(q claude.ToolAsk, dir string) *db.Permit {
	p := db.Permit{Tool: q.Name}
	switch q.Name {
	case claude.QuestionTool, claude.PlanTool:
		return nil
	case "Bash":
		in, ok := plainCommand(q.Input)
		if !ok || !single(in) {
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
		if !slices.Contains(q.Rules, claude.Rule{Tool: q.Name}) { // the CLI itself has none
			return nil
		}
		p.Kind = db.ToolRule
	}
	return &p
}

// Covers reports whether a rule allows what an agent wants in its project.
func Covers(p db.Permit, tool string, input json.RawMessage, dir string) bool {
	if p.Tool != tool {
		return false
	}
	switch p.Kind {
	case db.ExactRule:
		command, ok := plainCommand(input)
		// A rule never covers a command that consists of several, since it was shown as one.
		return ok && command == p.Content && single(command)
	case db.PrefixRule:
		command, ok := plainCommand(input)
		return ok && extends(command, p.Content)
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

// plainCommand returns the command of a Bash call, if no other member changes how it is run: a call in
// the background, for example, is not covered by a rule.
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

// fileOf is the file or folder that a tool is about, without symbolic links.
func fileOf(tool string, input json.RawMessage, dir string) (string, bool) {
	path, ok := pathOf(tool, input, dir)
	if !ok {
		return "", false
	}
	return safepath.Follow(path)
}

// plainFile is fileOf where neither the file nor its name is guarded.
func plainFile(tool string, input json.RawMessage, dir string) (string, bool) {
	path, ok := pathOf(tool, input, dir)
	if !ok || guarded(path, dir) {
		return "", false
	}
	real, ok := safepath.Follow(path)
	return real, ok && !guarded(real, dir)
}

// pathOf is the path that a tool is given. A search is about the whole project when it names no folder.
func pathOf(tool string, input json.RawMessage, dir string) (string, bool) {
	in, err := readInput(tool, input)
	path := cmp.Or(in.File, in.Notebook, in.Path) // a tool has one of them
	if path == "" && (tool == "Grep" || tool == "Glob") {
		path = dir
	}
	if err != nil || path == "" || tool == "Glob" && elsewhere(in.Pattern) {
		return "", false
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.Clean(path), true
}

// hostOf returns the host of a fetched page. Addresses with a user name are excluded, because the part
// before the @ can look like a host.
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

// scope says what a rule allows.
func scope(p db.Permit, l i18n.Lang) string {
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

// RuleText is a rule in the list of a chat's rules: as its scope, and an exact command with the command.
func RuleText(p db.Permit, l i18n.Lang) string {
	if p.Kind == db.ExactRule {
		return i18n.InlineCode(i18n.FirstLine(p.Content))
	}
	return scope(p, l)
}
