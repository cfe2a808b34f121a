package feishusim

import (
	"regexp"
	"strings"
)

var (
	imageLink  = regexp.MustCompile(`!\[[^\]]*\]\(\s*([^)\s]*)[^)]*\)`)
	inlineCode = regexp.MustCompile("`[^`\n]+`")
	tableRule  = regexp.MustCompile(`^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$`)
	atAll      = regexp.MustCompile(`(?i)<at\s+(id|user_id)\s*=\s*["']?(all|@_all)["']?\s*/?>`)
)

// outsideCode returns markdown without fenced and inline code, in which the client renders neither
// tables nor images nor mentions.
func outsideCode(md string) string {
	var out []string
	fence := ""
	for line := range strings.SplitSeq(md, "\n") {
		mark := fenceMark(line)
		switch {
		case fence == "" && mark != "":
			fence = mark
		case fence == "":
			out = append(out, line)
		// As in CommonMark: a closing fence is at least as long as the opening one and nothing follows it.
		case strings.HasPrefix(mark, fence) && strings.Trim(strings.TrimSpace(line), mark[:1]) == "":
			fence = ""
		}
	}
	return inlineCode.ReplaceAllString(strings.Join(out, "\n"), "")
}

// fenceMark returns the run of backquotes or tildes at the start of a fence line, or "".
func fenceMark(line string) string {
	t := strings.TrimLeft(line, " ")
	for _, c := range []string{"`", "~"} {
		if n := len(t) - len(strings.TrimLeft(t, c)); n >= 3 {
			return t[:n]
		}
	}
	return ""
}

// countTables counts tables: a row with a bar, followed by the separator line.
func countTables(prose string) int {
	n := 0
	previous := ""
	for line := range strings.SplitSeq(prose, "\n") {
		if strings.Contains(previous, "|") && strings.Contains(line, "-") && strings.Contains(line, "|") &&
			tableRule.MatchString(line) {
			n++
			line = "" // the rows that follow start no new table
		}
		previous = line
	}
	return n
}

// pingsAll reports whether the text would notify everyone in the chat.
func pingsAll(s string) bool { return atAll.MatchString(outsideCode(s)) }
