package contextmgr

import (
	"regexp"
	"strings"
	"unicode"
)

// Titles are cut: the agent's, which should be shorter anyway, and one that is made of a question. In runes.
const (
	titleLength    = 60
	fallbackLength = 40
)

var (
	label    = regexp.MustCompile(`(?i)^(标题|title)\s*[:：]\s*`)
	markdown = regexp.MustCompile(`^(?:#{1,6}\s+|>\s*|[-*+]\s+|[0-9]{1,3}[.)]\s+)+`)
)

// Title is what the agent wrote, as a title: one line, without quotes and Markdown. It is empty when nothing is left.
func Title(reply string) string {
	title := []rune(bare(label.ReplaceAllString(bare(firstLine(reply)), "")))
	if len(title) <= titleLength {
		return string(title)
	}
	return strings.TrimRight(string(title[:border(title, titleLength, -1)]), " ") + "..."
}

// FallbackTitle is the title that a question gives: its first line, cut between two words.
func FallbackTitle(question string) string {
	line := []rune(bare(firstLine(question)))
	if len(line) <= fallbackLength {
		return string(line)
	}
	end := border(line, fallbackLength, -1)
	for at := end; at > 0; at-- {
		if !wordy(line[at-1]) || !wordy(line[at]) {
			end = at
			break
		}
	}
	return strings.TrimRightFunc(string(line[:end]), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsPunct(r) })
}

// wordy says whether r is written together with its neighbours: Chinese is not.
func wordy(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsDigit(r)) && classOf(r) != classHan && classOf(r) != classSyllable
}

// firstLine is the first line in which something is said.
func firstLine(text string) string {
	for line := range strings.Lines(valid(text)) {
		if line = strings.Join(strings.Fields(line), " "); bare(line) != "" && !strings.HasPrefix(line, "```") {
			return line
		}
	}
	return ""
}

// bare takes off what is around a title.
func bare(s string) string {
	s = markdown.ReplaceAllString(strings.TrimSpace(s), "")
	s = strings.ReplaceAll(strings.ReplaceAll(s, "**", ""), "`", "")
	s = strings.Trim(s, " \t\"'“”‘’「」『』《》_*")
	return strings.TrimSpace(s)
}
