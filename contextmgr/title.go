package contextmgr

import (
	"regexp"
	"strings"
	"unicode"

	"magpie/internal/text"
)

// Maximum lengths of titles, in runes: of the agent's, which should be shorter anyway, and of one made from a question.
const (
	titleLength    = 60
	fallbackLength = 40

	ellipsis = "..."
)

// Models decorate a title: with a label, or with Markdown.
var (
	label    = regexp.MustCompile(`(?i)^(标题|title)\s*[:：]\s*`)
	markdown = regexp.MustCompile(`^(?:#{1,6}\s+|>\s*|[-*+]\s+|[0-9]{1,3}[.)]\s+)+`)
)

// Title cleans up a title that the agent wrote: one line, without quotes and Markdown. It is empty if nothing is left.
func Title(reply string) string {
	title := []rune(stripMarkup(label.ReplaceAllString(stripMarkup(firstProse(reply)), "")))
	if len(title) <= titleLength {
		return string(title)
	}
	return strings.TrimRight(string(title[:text.Cut(title, titleLength-len(ellipsis))]), " ") + ellipsis
}

// FallbackTitle makes a title from a question: its first line, cut between two words.
func FallbackTitle(question string) string {
	line := []rune(stripMarkup(firstProse(question)))
	if len(line) <= fallbackLength {
		return string(line)
	}
	end := text.Cut(line, fallbackLength)
	for at := end; at > 0; at-- {
		if text.Cut(line, at) == at && (!isWordRune(line[at-1]) || !isWordRune(line[at])) {
			end = at
			break
		}
	}
	for end > 0 && (unicode.IsSpace(line[end-1]) || unicode.IsPunct(line[end-1])) && text.Cut(line, end-1) == end-1 {
		end--
	}
	return string(line[:end])
}

// isWordRune reports whether r belongs to words separated by spaces, unlike Chinese.
func isWordRune(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)) && classOf(r) != classHan &&
		classOf(r) != classSyllable
}

// firstProse is the first line with text, not just markup or fences. Characters that change the direction of what
// follows are left out: a title stands in front of other text.
func firstProse(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, validUTF8(s))
	for line := range strings.Lines(s) {
		if line = text.OneLine(line); stripMarkup(line) != "" && !strings.HasPrefix(line, "```") {
			return line
		}
	}
	return ""
}

// stripMarkup removes quotes and markup around a title.
func stripMarkup(s string) string {
	s = markdown.ReplaceAllString(strings.TrimSpace(s), "")
	s = strings.ReplaceAll(strings.ReplaceAll(s, "**", ""), "`", "")
	s = strings.Trim(s, " \t\"'“”‘’「」『』《》_*")
	return strings.TrimSpace(s)
}
