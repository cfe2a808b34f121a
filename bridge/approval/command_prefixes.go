package approval

import (
	"path"
	"slices"
	"strings"

	"magpie/internal/claude"
)

// prefixOf is the beginning by which a command may be allowed: the CLI proposes it, and it is known what may follow.
func prefixOf(command string, proposed []claude.Rule) (string, bool) {
	if len(proposed) != 1 || proposed[0].Tool != "Bash" {
		return "", false
	}
	prefix, ok := strings.CutSuffix(proposed[0].Content, " *")
	return prefix, ok && extends(command, prefix)
}

// extends reports whether a command surely is one command, of this family, within the project, and does no more than
// the family does. It holds for rules of earlier versions, too: one that is for no family allows nothing.
func extends(command, prefix string) bool {
	options, known := claude.BashFamily(prefix)
	rest, ok := strings.CutPrefix(command, prefix)
	if !known || !ok || rest != "" && rest[0] != ' ' || !single(command) {
		return false
	}
	words, ok := plainWords(rest)
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		// Options are checked by name, because many programs have one that runs another program or writes a file.
		if strings.HasPrefix(w, "-") && !slices.Contains(options, name) || elsewhere(w) || elsewhere(value) {
			return false
		}
	}
	return ok
}

// elsewhere reports whether a word may name something outside of the working folder.
func elsewhere(word string) bool {
	return path.IsAbs(word) || strings.HasPrefix(word, "~") || slices.Contains(strings.Split(word, "/"), "..")
}

// single reports whether a command surely is one command: nothing in it can begin another one, or lead its output
// elsewhere.
func single(command string) bool {
	return !strings.ContainsAny(command, ";&|<>$`(){}\\\n\r\x00!")
}

// plainWords are the words of a [single] command as its shell reads them, without their quotes. It is not known what a
// pattern stands for, nor where a quote ends that is not closed.
func plainWords(command string) (words []string, ok bool) {
	var word strings.Builder
	var quote rune // within which it is; 0 = none
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
