package contextmgr

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"magpie/db"
)

// Limits of the memories captured from one question and its answer.
const (
	maxNotes    = 3
	noteLength  = 300 // runes of its text; a longer one is not a single fact
	maxKeywords = 12
)

var (
	noteLabel = regexp.MustCompile(`(?i)^(标题|内容|关键词|title|text|keywords)\s*[:：]\s*`)
	notANote  = []string{"内容", "text", "无", "none"} // in a table header, or for an empty list
)

// ParseNotes parses the agent's reply to a [Config.NotesTask]: a title, a text and keywords per line. Lines in any
// other form are skipped.
func ParseNotes(reply string) []db.Memory {
	var list []db.Memory
	for line := range strings.Lines(validUTF8(reply)) {
		line = markdown.ReplaceAllString(strings.TrimSpace(strings.ReplaceAll(line, "｜", "|")), "")
		fields := strings.Split(strings.Trim(line, "| "), "|")
		for i, f := range fields {
			fields[i] = noteLabel.ReplaceAllString(strings.TrimSpace(f), "")
		}
		if len(fields) < 2 {
			// Models also write an introduction or a remark; such lines have no columns.
			continue
		}
		m := db.Memory{Title: stripMarkup(fields[0])}
		if last := len(fields) - 1; last > 1 {
			m.Keywords = keywords(fields[last])
			fields = fields[:last]
		}
		m.Text = strings.Join(fields[1:], " | ")
		if hasContent(m.Text) && utf8.RuneCountInString(m.Text) <= noteLength && len(list) < maxNotes {
			list = append(list, m)
		}
	}
	return list
}

// hasContent reports whether a note's text says anything.
func hasContent(text string) bool {
	return strings.ContainsFunc(text, unicode.IsLetter) && !slices.Contains(notANote, strings.ToLower(text))
}

// keywords splits a list at Western and Chinese separators, since models use both.
func keywords(list string) []string {
	words := strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(",，、;；", r) })
	for i, w := range words {
		words[i] = strings.TrimSpace(w)
	}
	return words[:min(maxKeywords, len(words))]
}
