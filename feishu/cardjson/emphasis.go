package cardjson

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// In Markdown, marks of emphasis next to punctuation need a space or punctuation on their other side. Chinese has no
// such spaces, so agents write **重点：**后面, which would show the marks. Such a mark gets the space.

// emphasis tracks which marks are open in a line, by sign and length.
type emphasis map[string]bool

// run reads the run of asterisks or tildes at i. A single tilde is none of the marks that agents mean: 20~25, ~/src.
func (e *emphasis) run(line string, i int) (n int, text string) {
	rest := line[i:]
	n = len(rest) - len(strings.TrimLeft(rest, rest[:1]))
	mark := rest[:n]
	switch {
	case mark == "~":
		return n, "&#126;"
	case n > 3:
		return n, mark
	}
	before, _ := utf8.DecodeLastRuneInString(line[:i])
	after, _ := utf8.DecodeRuneInString(rest[n:])
	switch {
	case (*e)[mark] && i > 0 && !unicode.IsSpace(before):
		(*e)[mark] = false
		if n < len(rest) && isPunctuation(before) && !unicode.IsSpace(after) && !isPunctuation(after) {
			return n, mark + " "
		}
	case !(*e)[mark] && n < len(rest) && !unicode.IsSpace(after):
		if *e == nil {
			*e = emphasis{}
		}
		(*e)[mark] = true
		if i > 0 && isPunctuation(after) && !unicode.IsSpace(before) && !isPunctuation(before) {
			return n, " " + mark
		}
	}
	return n, mark
}

func isPunctuation(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }
