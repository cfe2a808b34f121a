package contextmgr

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"magpie/internal/text"
)

// The longest titles, in runes: the agent's, which should be shorter anyway, and one that is made of a question.
const (
	titleLength    = 60
	fallbackLength = 40

	ellipsis = "..."
)

var (
	label    = regexp.MustCompile(`(?i)^(标题|title)\s*[:：]\s*`)
	mark     = regexp.MustCompile(`\[REDACTED_[A-Z_]+\]`)
	markdown = regexp.MustCompile(`^(?:#{1,6}\s+|>\s*|[-*+]\s+|[0-9]{1,3}[.)]\s+)+`)
)

// Title is what the agent wrote, as a title: one line, without quotes and Markdown. It is empty when nothing is left.
func Title(reply string) string {
	title := []rune(bare(label.ReplaceAllString(bare(firstLine(reply)), "")))
	if len(title) <= titleLength {
		return string(title)
	}
	return strings.TrimRight(string(title[:uncut(title, titleLength-len(ellipsis))]), " ") + ellipsis
}

// FallbackTitle is the title that a question gives: its first line, cut between two words.
func FallbackTitle(question string) string {
	line := []rune(bare(firstLine(question)))
	if len(line) <= fallbackLength {
		return string(line)
	}
	end := uncut(line, fallbackLength)
	for at := end; at > 0; at-- {
		if uncut(line, at) == at && (!wordy(line[at-1]) || !wordy(line[at])) {
			end = at
			break
		}
	}
	for end > 0 && (unicode.IsSpace(line[end-1]) || unicode.IsPunct(line[end-1])) && uncut(line, end-1) == end-1 {
		end--
	}
	return string(line[:end])
}

// uncut is the last place up to end at which neither a character as people see it nor a mark of [redact.Text] is cut.
func uncut(line []rune, end int) int {
	end = text.Border(line, end, -1)
	s := string(line)
	for _, at := range mark.FindAllStringIndex(s, -1) {
		from, to := utf8.RuneCountInString(s[:at[0]]), utf8.RuneCountInString(s[:at[1]])
		if from < end && end < to {
			return from
		}
	}
	return end
}

// wordy says whether r is written together with its neighbours: Chinese is not.
func wordy(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)) && classOf(r) != classHan && classOf(r) != classSyllable
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
