package approval

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"magpie/db"
	"magpie/internal/agenttools"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/claude/stream"
	"magpie/internal/claude/workspace"
	"magpie/internal/i18n"
	"magpie/internal/safepath"
	"magpie/internal/shell"
)

// automaticDecision is a decision made without asking.
type automaticDecision struct {
	claude.Decision
	why  string // for operators; empty = people have to be asked
	rule int64  // the rule of the chat that allows it; 0 = none
}

// decideUnasked returns the decision if people need not be asked.
func (rs *Requests) decideUnasked(
	ctx context.Context, c db.Claim, w Workspace, q claude.ToolAsk, touched TouchedPaths,
) (s automaticDecision) {
	refused := func(text, why string) automaticDecision {
		return automaticDecision{Decision: claude.Decision{Why: text}, why: refusedUnasked + why}
	}
	if w.ReadOnly && !stream.AsksPeople(q.Name) && !OnlyReads(q, w.Dir) {
		return refused(lookOnly, "the project is for looking only")
	}
	s.Decision = claude.Decision{Allow: true, Input: q.Input}
	if w.AskAll && IsInternal(q.Name) {
		s.why = "tool allowed: it is the program's own, or for the agent's own notes"
		return s
	}
	if HoldsSecret(q.Input, rs.secrets) {
		return refused(notWithSecrets, "what it wants holds a secret")
	}
	if s.rule = rs.ruleFor(ctx, c.Turn.Key, w.Dir, q); s.rule != 0 && !touched.Any() {
		s.why = fmt.Sprintf("tool allowed by rule %d of the chat", s.rule)
		return s
	}
	if text := DisplayProblem(q.Name, q.Input); text != "" {
		return refused(text, fmt.Sprintf("what it wants, of %d bytes, cannot be shown", len(q.Input)))
	}
	return automaticDecision{}
}

// ruleFor is the number of the rule that allows a tool call; 0 = none. Plan mode is read-only, so no rule applies
// there.
func (rs *Requests) ruleFor(ctx context.Context, key chat.Key, dir string, q claude.ToolAsk) int64 {
	if q.Mode == claude.PlanMode {
		return 0
	}
	list, err := rs.store.Access().Rules(ctx, key)
	if err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Msg("rules not read; asking")
		return 0
	}
	for _, r := range list {
		if r.Project == dir && Covers(r.Permit, q.Name, q.Input, dir) {
			return r.Number
		}
	}
	return 0
}

// refusedUnasked is the prefix of reasons for refusals without asking.
const refusedUnasked = "tool refused: "

// record records a decision made without asking. Calls of internal tools are of no interest and are left out.
func (rs *Requests) record(t db.Turn, q claude.ToolAsk, s automaticDecision) {
	a := db.Action{Use: q.Use, Tool: q.Name, Input: ShortInput(q.Input, rs.redact), Rule: s.rule}
	switch {
	case s.rule != 0:
		a.Decision = AllowedByRule
	case !s.Allow:
		if s.Why == notWithSecrets {
			a.Input = ""
		}
		a.Decision, a.Reason = Denied, strings.TrimPrefix(s.why, refusedUnasked)
	default:
		return
	}
	done := db.RecordedAction{Action: a, Key: t.Key, Turn: t.ID, Epoch: t.Epoch, Time: time.Now()}
	rs.jobs.Enqueue(func(ctx context.Context) {
		err := rs.store.Messages().RecordActions(context.WithoutCancel(ctx), []db.RecordedAction{done})
		if err != nil {
			rs.log.Error().Err(err).Stringer("chat", t.Key).Int64("turn", t.ID).Str("tool", q.Name).
				Msg("decision not recorded")
		}
	})
}

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

// The kinds of rules, most restrictive first.
const (
	exactRule  = "exact"  // this exact command
	prefixRule = "prefix" // commands with this prefix
	pathRule   = "path"   // this file
	insideRule = "inside" // files in the project
	hostRule   = "host"   // pages of this host
	toolRule   = "tool"   // any use of the tool
)

// PermitFor is the rule that "always" creates for a request: as narrow as makes sense. Nil = such requests are asked
// each time.
func PermitFor(q claude.ToolAsk, dir string) *db.Permit {
	p := db.Permit{Tool: q.Name}
	switch q.Name {
	case claude.QuestionTool, claude.FormTool, claude.PlanTool:
		return nil
	case "Bash":
		in, ok := plainCommand(q.Input)
		if !ok || !isSingle(in) {
			return nil
		}
		p.Kind, p.Content = exactRule, in
		if prefix, ok := prefixOf(in, q.Rules); ok {
			p.Kind, p.Content = prefixRule, prefix
		}
	case "Write", "Edit", "NotebookEdit", "Read", "Grep", "Glob":
		path, ok := plainFile(q.Name, q.Input, dir)
		switch {
		case !ok:
			return nil
		case safepath.Contains(dir, path):
			p.Kind = insideRule
		default:
			p.Kind, p.Content = pathRule, path
		}
	case "WebFetch":
		host, ok := hostOf(q.Name, q.Input)
		if !ok {
			return nil
		}
		p.Kind, p.Content = hostRule, host
	default:
		if !slices.Contains(q.Rules, claude.Rule{Tool: q.Name}) { // the CLI itself proposes no rule
			return nil
		}
		p.Kind = toolRule
	}
	return &p
}

// Covers reports whether a rule allows a tool call in its project.
func Covers(p db.Permit, tool string, input json.RawMessage, dir string) bool {
	if p.Tool != tool {
		return false
	}
	switch p.Kind {
	case exactRule:
		command, ok := plainCommand(input)
		// A rule never covers a command that consists of several, since it was shown as one.
		return ok && command == p.Content && isSingle(command)
	case prefixRule:
		command, ok := plainCommand(input)
		return ok && matchesPrefix(command, p.Content)
	case pathRule:
		path, ok := plainFile(tool, input, dir)
		return ok && path == p.Content
	case insideRule:
		path, ok := plainFile(tool, input, dir)
		return ok && safepath.Contains(dir, path)
	case hostRule:
		host, ok := hostOf(tool, input)
		return ok && host == p.Content
	case toolRule:
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
	case exactRule:
		return i18n.ScopeExact.In(l)
	case prefixRule:
		return fmt.Sprintf(i18n.ScopePrefix.In(l), content)
	case pathRule:
		return fmt.Sprintf(i18n.ScopePath.In(l), p.Tool, content)
	case insideRule:
		return fmt.Sprintf(i18n.ScopeInside.In(l), p.Tool)
	case hostRule:
		return fmt.Sprintf(i18n.ScopeHost.In(l), content)
	}
	return fmt.Sprintf(i18n.ScopeTool.In(l), i18n.Visible(p.Tool))
}

// RuleText describes a rule in a list: its scope, and the command itself if the rule is for one exact command.
func RuleText(p db.Permit, l i18n.Lang) string {
	if p.Kind == exactRule {
		return i18n.InlineCode(i18n.FirstLine(p.Content))
	}
	return scopeText(p, l)
}

// prefixOf is the prefix by which a command can be allowed: one that the CLI proposes, and whose possible arguments are
// known.
func prefixOf(command string, proposed []claude.Rule) (string, bool) {
	if len(proposed) != 1 || proposed[0].Tool != "Bash" {
		return "", false
	}
	prefix, ok := strings.CutSuffix(proposed[0].Content, " *")
	return prefix, ok && matchesPrefix(command, prefix)
}

// matchesPrefix reports whether a command is surely a single command of this family, stays within the project, and does
// no more than the family does. It also checks rules of earlier versions: a prefix of no known family allows nothing.
func matchesPrefix(command, prefix string) bool {
	options, known := workspace.BashFamily(prefix)
	single, ok := shell.Single(command)
	if !known || !ok || single.Sets || command != prefix && !strings.HasPrefix(command, prefix+" ") {
		return false
	}
	return !slices.ContainsFunc(single.Words[len(strings.Fields(prefix)):], func(w shell.Word) bool {
		name, value, _ := strings.Cut(w.Text, "=")
		// Options are checked by name, because many programs have one that runs another program or writes a file. What a
		// pattern stands for is not known.
		return w.Pattern || strings.HasPrefix(w.Text, "-") && !slices.Contains(options, name) ||
			leavesFolder(w.Text) || leavesFolder(value)
	})
}

func isSingle(command string) bool {
	_, ok := shell.Single(command)
	return ok
}

// leavesFolder reports whether a word may name something outside the working folder.
func leavesFolder(word string) bool {
	return path.IsAbs(word) || strings.HasPrefix(word, "~") || slices.Contains(strings.Split(word, "/"), "..")
}
