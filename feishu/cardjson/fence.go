package cardjson

import (
	"regexp"
	"strings"
)

// fence is an open code block of Markdown.
type fence struct {
	mark   string // the backticks or tildes that opened it
	lang   string
	indent int // spaces before the marker
}

var (
	fenceLine = regexp.MustCompile("^([ \t]*)((?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)?)(`{3,32}|~{3,32})(.*)$")
	language  = regexp.MustCompile(`^[A-Za-z0-9_+#.-]{1,40}`)
)

// opensFence parses a line that opens a code block. before is the list marker in front of it, if any.
func opensFence(line string) (f fence, before string, ok bool) {
	// Nearly all lines end here; the regular expression costs much more.
	if !strings.Contains(line, "```") && !strings.Contains(line, "~~~") {
		return fence{}, "", false
	}
	m := fenceLine.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
	// As in CommonMark, a line with more backquotes behind the fence is inline code.
	if m == nil || (m[3][0] == '`' && strings.Contains(m[4], "`")) {
		return fence{}, "", false
	}
	f = fence{mark: m[3], lang: language.FindString(strings.TrimSpace(m[4])), indent: len(m[1]) + len(m[2])}
	if m[2] != "" {
		before = m[1] + strings.TrimRight(m[2], " \t")
	}
	return f, before, true
}

// closedBy reports whether the line ends the block.
func (f fence) closedBy(line string) bool {
	line = strings.Trim(line, " \t\r\n")
	return len(line) >= len(f.mark) && strings.Trim(line, f.mark[:1]) == ""
}

// reopen is the line that continues the block on another page.
func (f fence) reopen() string { return f.mark + f.lang + "\n" }

// A table is a line of cells, a line of dashes and more lines of cells.

func tableRow(line string) bool {
	return strings.Contains(line, "|") && strings.TrimSpace(line) != ""
}

// separatorLine allows quote marks in front, so that a table in a quote is recognized, too.
var separatorLine = regexp.MustCompile(`^[ \t>]*\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t\r\n]*$`)

func tableSeparator(line string) bool {
	return strings.Contains(line, "|") && separatorLine.MatchString(line)
}
