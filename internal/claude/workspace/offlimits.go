package workspace

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/google/uuid"

	"magpie/internal/claude/wall"
	"magpie/internal/i18n"
	"magpie/internal/safepath"
)

// sessionsOfMachine is the CLI's state of sessions in the folder of the machine's user.
var sessionsOfMachine = []string{
	"backups", "debug", "file-history", "history.jsonl", "paste-cache", "plans", "projects", "session-env", "sessions",
	"shell-snapshots", "tasks", "todos", "uploads",
}

// loginOfMachine has that user's account and login.
var loginOfMachine = []string{".claude.json", ".config.json", ".credentials.json"}

// secretsOfChat are the secrets in a chat's folder.
var secretsOfChat = []string{".claude.json", ".credentials.json", "backups", mcpFile, mcpFile + ".new"}

// memoriesOfChat are where the CLI writes memories without asking. The bridge has its own Memory.
var memoriesOfChat = []string{"projects/*/memory", "agent-memory"}

// askRules are for commands that the CLI considers harmless whatever files they read, so that its own path rules do not
// apply to them. An option may be shortened.
var askRules = []string{
	"Bash(diff *--f*)", "Bash(diff *--t*)", "Bash(wc *--f*)", "Bash(du *--f*)", "Bash(strings *@*)",
	"Bash(hexdump *-*f*)", "Bash(docker inspect *)",
}

// openAskRules are those for an agent without a wall, which must not get at this program's files either: whatever has an
// option with a path, and whatever shows the names of files that the shell has found.
var openAskRules = []string{
	"Bash(du *)", "Bash(diff *--*)", "Bash(*=*/*)", "Bash(echo */*)", "Bash(realpath */*)", "Bash(basename */*)",
	"Bash(dirname */*)", "Bash(readlink */*)", "Bash(df */*)",
}

// bashAskRules are the ask rules for Bash: every command with a CLI older than [noMentions]. That CLI considers a
// harmless command harmless whatever file is its input (cat < FILE), and removes the input before it evaluates any rule.
func bashAskRules(c Config) []string {
	if knows, sure := knownPrograms.knows(c.Command, noMentions); sure && !knows {
		return []string{"Bash"}
	}
	if c.Wall.Works() {
		return askRules
	}
	return slices.Concat(askRules, openAskRules)
}

// guardRules are the ask rules for changes to files of the project with these names, and to all in folders with them. To
// the commands that the CLI runs unasked in acceptEdits it does not apply rules about files.
func guardRules(patterns []string) (ask []string) {
	if len(patterns) > 0 {
		ask = []string{"Bash(cp *)", "Bash(mv *)", "Bash(rm *)", "Bash(sed *)"}
	}
	for _, pattern := range patterns {
		ask = append(ask, "Edit("+pattern+")")
	}
	return ask
}

// offLimits are the deny rules that keep the agents of a chat away from everything that belongs to others: the data
// folder except files, the state of other chats' agents, and the files with secrets.
func (a Agent) offLimits(files string) (deny []string) {
	var paths []string
	kept := []string{realPath(a.folder.path)}
	if files != "" {
		kept = append(kept, realPath(files))
	}
	for _, root := range []string{a.Config.Data, string(a.state)} {
		if root != "" && !a.Config.Wall.Works() { // behind a wall there is nothing to deny
			paths = append(paths, allExcept(realPath(root), kept)...)
		}
	}
	whole := append([]string{a.folder.decisions}, a.Config.Private...)
	for _, name := range slices.Concat(sessionsOfMachine, loginOfMachine) {
		whole = append(whole, filepath.Join(a.folder.machine, name))
	}
	for _, name := range secretsOfChat {
		whole = append(whole, filepath.Join(a.folder.path, name))
	}
	for _, path := range whole {
		paths = append(paths, escapePattern(realPath(path)))
	}
	for _, pattern := range memoriesOfChat {
		paths = append(paths, escapePattern(realPath(a.folder.path))+"/"+pattern)
	}
	// Sorted and without duplicates, so that equal configurations write equal files.
	for _, path := range slices.Compact(slices.Sorted(slices.Values(paths))) {
		// Two slashes begin an absolute path in the CLI's rules.
		deny = append(deny, "Read(/"+path+")", "Edit(/"+path+")")
	}
	return deny
}

// realPath is a path without symbolic links, which is what the CLI compares. It works for paths that do not exist yet.
func realPath(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if dir := filepath.Dir(path); err != nil && dir != path {
		return filepath.Join(realPath(dir), filepath.Base(path))
	} else if err != nil {
		return path
	}
	return real
}

// allExcept are patterns for everything below root that is not below one of kept. A deny rule takes precedence over all
// allow rules, and a denied folder includes its contents. So "all except" can only be said by naming everything else.
func allExcept(root string, kept []string) []string {
	inner := map[string][]string{} // kept paths, by their first folder below root
	for _, path := range kept {
		rel, ok := safepath.Rel(root, path)
		if !ok || rel == "." {
			continue
		}
		first, _, _ := strings.Cut(rel, string(filepath.Separator))
		inner[first] = append(inner[first], path)
	}
	if len(inner) == 0 {
		return []string{escapePattern(root)}
	}
	var list []string
	for _, name := range namesExcept(slices.Sorted(maps.Keys(inner))) {
		list = append(list, escapePattern(root)+"/"+name)
	}
	for name, paths := range inner {
		dir := filepath.Join(root, name)
		if !slices.Contains(paths, dir) {
			list = append(list, allExcept(dir, paths)...)
		}
	}
	return list
}

// randomPrefix is how much of a random UUID is looked at: 60 random bits, which no two chats share. Each character
// takes two rules, for each of which the CLI needs 0.2 ms at its start.
const randomPrefix = 18

// namesExcept are patterns for all names other than these, which consist of lower-case letters, digits and dashes. Of
// UUIDs only the beginning is told apart. Patterns are not case-sensitive.
func namesExcept(names []string) (list []string) {
	next := map[string]string{} // characters that may follow a prefix
	var last string             // characters with which names end
	for _, name := range names {
		length := len(name)
		if uuid.Validate(name) == nil {
			length = randomPrefix
		}
		for i := range length {
			next[name[:i]] += name[i : i+1]
		}
		last += name[len(name)-1:]
		list = append(list, name+"?*")
	}
	list = append(list, "*"+charExcept(last)) // most beginnings of the names, too
	for beginning, letters := range next {
		list = append(list, beginning+charExcept(letters)+"*")
		if beginning != "" && strings.Contains(last, beginning[len(beginning)-1:]) && !slices.Contains(names, beginning) {
			list = append(list, beginning)
		}
	}
	return list
}

// charExcept is a pattern for any character of a name except these, in either case. The CLI's patterns have no
// negation, and a slash in a range would match the one behind a folder's name.
func charExcept(letters string) string {
	not := []rune{'/'}
	for _, letter := range letters {
		not = append(not, letter)
		for r := unicode.SimpleFold(letter); r != letter; r = unicode.SimpleFold(r) {
			not = append(not, r)
		}
	}
	var b strings.Builder
	b.WriteByte('[')
	from := ' '
	for _, r := range append(slices.Sorted(slices.Values(not)), 0x10000) {
		if to := r - 1; from <= to {
			b.WriteString(string(from) + "-" + string(to))
		}
		from = r + 1
	}
	b.WriteByte(']')
	return b.String()
}

// escapePattern converts a path to a pattern: characters with a meaning in patterns or rules become the wildcard for
// one character.
func escapePattern(path string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`*?[]{}()\!#`, r) {
			return '?'
		}
		return r
	}, filepath.ToSlash(path))
}

// WallMode says whether the kernel is to hide this program's files from agents.
type WallMode string

// The values of [Config.Wall].
const (
	wallAuto    WallMode = "auto"
	wallOff     WallMode = "off"
	wallRequire WallMode = "require"
)

func (m WallMode) wanted() bool { return m != "" && m != wallOff }

// Works reports whether agents run behind a wall.
func (m WallMode) Works() bool { return m.wanted() && wall.Available() == nil }

// Missing says why agents run without a wall although one is wanted; nil = they do not.
func (m WallMode) Missing() error {
	if !m.wanted() {
		return nil
	}
	return wall.Available()
}

func (m WallMode) check() error {
	known := []string{string(wallAuto), string(wallOff), string(wallRequire)}
	switch {
	case m != "" && !slices.Contains(known, string(m)):
		return i18n.Mistakef("[claude] wall %q：应为 %s 之一", "[claude] wall %q: must be one of %s", m,
			i18n.Listing(known))
	case m == wallRequire && m.Missing() != nil:
		return i18n.Mistakef(
			`[claude] wall = "require"：这台机器上做不到：%v；要让没有这道墙的助手也能运行，就写 "auto"`,
			`[claude] wall = "require": this machine cannot do that: %v; to let agents run without it, write "auto"`,
			m.Missing())
	}
	return nil
}

// wallAround says what the kernel hides from a process: the program's data, the state of other chats' agents, the files
// with secrets, and the sessions of the machine's user. The login is not hidden: the CLI itself needs it. nil = there is
// no wall.
func wallAround(a Agent, spec Spec) *wall.Plan {
	if !a.Config.Wall.Works() {
		return nil
	}
	hide := append([]string{a.Config.Data, string(a.state)}, a.Config.Private...)
	show := []string{spec.Dir, spec.Files, a.Config.Command, a.state.settings(), a.state.loginSettings()}
	if a.folder.path != "" {
		for _, name := range sessionsOfMachine {
			hide = append(hide, filepath.Join(a.folder.machine, name))
		}
		show = append(show, a.folder.path, a.state.chatSettings(a.folder.path))
	}
	return &wall.Plan{Hide: outermost(realPaths(hide)), Show: realPaths(show)}
}

// realPaths are the paths without symbolic links, see [realPath]. Empty ones are left out.
func realPaths(paths []string) (list []string) {
	for _, path := range paths {
		if path != "" {
			list = append(list, realPath(path))
		}
	}
	return list
}

// outermost are the paths that are not below another one, each once.
func outermost(paths []string) []string {
	return slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(paths))), func(path string) bool {
		return slices.ContainsFunc(paths, func(other string) bool {
			return other != path && safepath.Contains(other, path)
		})
	})
}
