package approval

import (
	"path"
	"slices"
	"strings"

	"magpie/internal/claude"
)

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
	options, known := claude.BashFamily(prefix)
	rest, ok := strings.CutPrefix(command, prefix)
	if !known || !ok || rest != "" && rest[0] != ' ' || !isSingleCommand(command) {
		return false
	}
	words, ok := plainWords(rest)
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		// Options are checked by name, because many programs have one that runs another program or writes a file.
		if strings.HasPrefix(w, "-") && !slices.Contains(options, name) || leavesFolder(w) || leavesFolder(value) {
			return false
		}
	}
	return ok
}

// leavesFolder reports whether a word may name something outside the working folder.
func leavesFolder(word string) bool {
	return path.IsAbs(word) || strings.HasPrefix(word, "~") || slices.Contains(strings.Split(word, "/"), "..")
}

// isSingleCommand reports whether a command is surely a single command: nothing in it can start another one or redirect
// its output.
func isSingleCommand(command string) bool {
	return !strings.ContainsAny(command, ";&|<>$`(){}\\\n\r\x00!")
}

// plainWords are the words of a [single] command as the shell reads them, without quotes. It fails on patterns, whose
// matches are unknown, and on unclosed quotes.
func plainWords(command string) (words []string, ok bool) {
	var word strings.Builder
	var quote rune // the enclosing quote; 0 = none
	begun := false
	end := func() {
		if begun {
			words = append(words, word.String())
		}
		word.Reset()
		begun = false
	}
	for _, r := range command {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r == ' ' || r == '\t':
			end()
		case strings.ContainsRune("*?[", r):
			return nil, false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	end()
	return words, quote == 0
}
