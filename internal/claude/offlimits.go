package claude

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"magpie/internal/safepath"
)

// stateOfMachine is what the CLI keeps of sessions in the folder of the machine's user, and its secrets.
var stateOfMachine = []string{
	".claude.json", ".config.json", ".credentials.json", "backups", "debug", "file-history", "history.jsonl", "paste-cache",
	"plans", "projects", "session-env", "sessions", "shell-snapshots", "tasks", "todos", "uploads",
}

// secretsOfChat are the secrets in the folder of a chat.
var secretsOfChat = []string{".claude.json", ".credentials.json", "backups"}

// memoriesOfChat are where the CLI writes without asking what its agents are to remember. Memory is the bridge's
// business.
var memoriesOfChat = []string{"projects/*/memory", "agent-memory"}

// askedFor are commands that the CLI takes for harmless whatever they look at, so its own rules of paths do not hold
// them.
var askedFor = []string{"Bash(du *)", "Bash(wc *--files0*)"}

// asksForCommands are the rules of what Bash does that is asked for: askedFor, or with a CLI that is older than
// [noMentions] each command. That one takes a harmless command for harmless whatever file is its input (cat < FILE), and
// takes the input away before it looks at any rule.
func (c Config) asksForCommands() []string {
	if knows, sure := knownPrograms.knows(c.Command, noMentions); sure && !knows {
		return []string{"Bash"}
	}
	return askedFor
}

// offLimits are the rules by which the agents of the chat can neither read nor change what is not the chat's: the data
// folder but for files, the state of other chats' agents, and the files with secrets.
func (c Config) offLimits(files string) (deny []string) {
	var paths []string
	kept := []string{realPath(c.folder.path)}
	if files != "" {
		kept = append(kept, realPath(files))
	}
	for _, root := range []string{c.Data, c.StateDir()} {
		if root != "" {
			paths = append(paths, allBut(realPath(root), kept)...)
		}
	}
	whole := append([]string{c.folder.decisions}, c.Private...)
	for _, name := range stateOfMachine {
		whole = append(whole, filepath.Join(c.folder.machine, name))
	}
	for _, name := range secretsOfChat {
		whole = append(whole, filepath.Join(c.folder.path, name))
	}
	for _, path := range whole {
		paths = append(paths, quote(realPath(path)))
	}
	for _, pattern := range memoriesOfChat {
		paths = append(paths, quote(realPath(c.folder.path))+"/"+pattern)
	}
	for _, path := range slices.Compact(slices.Sorted(slices.Values(paths))) {
		deny = append(deny, "Read(/"+path+")", "Edit(/"+path+")")
	}
	return deny
}

// realPath is a path without symbolic links, which is how the CLI compares. What is not there may come to be there.
func realPath(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if dir := filepath.Dir(path); err != nil && dir != path {
		return filepath.Join(realPath(dir), filepath.Base(path))
	} else if err != nil {
		return path
	}
	return real
}

// allBut are patterns of all that lies below root but not below one of kept. A rule that denies counts before any that
// allows, and what lies in a folder that is denied is denied too. So there is no way to say "all but" than to name all
// else.
func allBut(root string, kept []string) []string {
	inner := map[string][]string{} // what is kept, by its first folder below root
	for _, path := range kept {
		rel, ok := safepath.Rel(root, path)
		if !ok || rel == "." {
			continue
		}
		first, _, _ := strings.Cut(rel, string(filepath.Separator))
		inner[first] = append(inner[first], path)
	}
	if len(inner) == 0 {
		return []string{quote(root)}
	}
	var list []string
	for _, name := range othersThan(slices.Sorted(maps.Keys(inner))) {
		list = append(list, quote(root)+"/"+name)
	}
	for name, paths := range inner {
		dir := filepath.Join(root, name)
		if !slices.Contains(paths, dir) {
			list = append(list, allBut(dir, paths)...)
		}
	}
	return list
}

// othersThan are patterns of all names that are none of those, which are of small letters, digits and dashes. Case does
// not count in a pattern.
func othersThan(names []string) (list []string) {
	next := map[string]string{} // what may follow a beginning
	for _, name := range names {
		for i := range len(name) {
			next[name[:i]] += name[i : i+1]
		}
		list = append(list, name+"?*")
	}
	for beginning, letters := range next {
		list = append(list, beginning+noneOf(letters)+"*")
		if beginning != "" && !slices.Contains(names, beginning) {
			list = append(list, beginning)
		}
	}
	return list
}

// noneOf is a pattern of one character that is none of those, in whatever case. The CLI's patterns know no negation. No
// range may end with a slash; no name has one.
func noneOf(letters string) string {
	var not []rune
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
		to := r - 1
		if from == '/' {
			from++
		}
		if to == '/' {
			to--
		}
		if from <= to {
			b.WriteString(string(from) + "-" + string(to))
		}
		from = r + 1
	}
	b.WriteByte(']')
	return b.String()
}

// quote makes a pattern of a path. What has a meaning in patterns or in rules becomes the sign for any one character.
func quote(path string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`*?[]{}()\!#`, r) {
			return '?'
		}
		return r
	}, filepath.ToSlash(path))
}
