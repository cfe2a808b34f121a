package cardjson

import (
	"regexp"
	"strings"
)

// The platform's Markdown and its limits are described on the page "Rich text (Markdown)" of JSON 2.0 cards
// (feishu-cards/card-json-v2-components/content-components/rich-text).

// maxTables is how many tables one card may show: the documents say 4 for each element; 5 for each card were measured.
const maxTables = 3

// zwsp shows as nothing and keeps what it separates from being read as markup.
const zwsp = "\u200b"

// safe makes an agent's Markdown harmless for a card: tags show as they were written (an <at id=all> would call
// everybody), pictures that were not uploaded become links (one would have the whole card refused), too many tables
// become code, and a code block that is still open is closed.
//
// Text that grows line by line keeps what was drawn of its complete lines, except for the end of an open code block.
func safe(md string, tables int) string {
	w := writer{tables: tables}
	lines := strings.Split(clean(md), "\n")
	for i, line := range lines {
		next := ""
		if i+1 < len(lines) {
			next = lines[i+1]
		}
		w.line(line, next)
	}
	w.end()
	return strings.TrimSuffix(w.out.String(), "\n")
}

// clean drops what is no text: broken UTF-8 and control characters.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if (r < ' ' && r != '\n' && r != '\t') || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// writer goes over the lines and knows in what it is.
type writer struct {
	out     strings.Builder
	code    *fence // the open code block
	inTable bool
	boxed   bool // the open table is shown as code
	tables  int  // how many more may be shown as tables
}

func (w *writer) line(line, next string) {
	if w.code != nil {
		w.codeLine(line)
		return
	}
	if w.inTable && !tableRow(line) {
		w.endTable()
	}
	if f, before, ok := opensFence(line); ok {
		w.endTable()
		if before != "" {
			w.emit(before)
		}
		w.code = &f
		w.emit("```" + f.lang)
		return
	}
	if tableRow(line) && tableSeparator(next) {
		w.endTable()
		w.beginTable()
	}
	if w.boxed {
		w.emit(codeText(line))
		return
	}
	w.emit(prose(line))
}

func (w *writer) codeLine(line string) {
	if w.code.closedBy(line) {
		w.code = nil
		w.emit("```")
		return
	}
	// The platform wants no spaces around the fence; so the block loses the indent that its fence had.
	spaces := len(line) - len(strings.TrimLeft(line, " \t"))
	w.emit(codeText(line[min(spaces, w.code.indent):]))
}

func (w *writer) beginTable() {
	w.inTable = true
	w.boxed = w.tables <= 0
	w.tables--
	if w.boxed {
		w.emit("```")
	}
}

func (w *writer) endTable() {
	if w.boxed {
		w.emit("```")
	}
	w.inTable, w.boxed = false, false
}

func (w *writer) end() {
	w.endTable()
	if w.code != nil {
		w.emit("```")
	}
}

func (w *writer) emit(line string) {
	w.out.WriteString(line)
	w.out.WriteByte('\n')
}

var (
	atTag  = regexp.MustCompile(`(?i)<(/?at\b)`)
	box    = regexp.MustCompile(`^([ \t>]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)\[([ xX])\]([ \t]|$)`)
	upload = regexp.MustCompile(`^!\[[^\]\n]{0,200}\]\(img_[A-Za-z0-9_-]{16,100}\)`)
)

// codeText leaves code as it is, but for a fence inside it (of a longer or another kind), and for the tag that calls
// people: should the platform ever disagree about where code ends, nobody is called.
func codeText(s string) string {
	if strings.HasPrefix(strings.TrimLeft(s, " \t"), "```") {
		s = zwsp + s
	}
	return uncalled(s)
}

func uncalled(s string) string {
	if !strings.Contains(s, "<") {
		return s
	}
	return atTag.ReplaceAllString(s, "<"+zwsp+"$1")
}

// prose makes one line outside code blocks harmless.
func prose(line string) string {
	if m := box.FindStringSubmatchIndex(line); m != nil {
		mark := "☐"
		if line[m[4]] != ' ' {
			mark = "☑"
		}
		line = line[:m[3]] + mark + line[m[6]:]
	}
	if !strings.ContainsAny(line, "<!`") {
		return line
	}
	var b strings.Builder
	for i := 0; i < len(line); {
		n, text := token(line[i:])
		b.WriteString(text)
		i += n
	}
	return b.String()
}

// token reads the next piece of a line and says how it is written for the platform.
func token(s string) (n int, text string) {
	switch {
	case s[0] == '\\' && len(s) > 1 && s[1] == '<':
		return 2, "&lt;"
	case s[0] == '\\' && len(s) > 1 && (s[1] == '`' || s[1] == '\\'):
		return 2, s[:2]
	case s[0] == '\\' && strings.HasPrefix(s[1:], "!["):
		return 2, "!" + zwsp
	case s[0] == '<':
		return 1, "&lt;"
	case s[0] == '`':
		return span(s)
	case s[0] == '!':
		return picture(s)
	}
	return 1, s[:1]
}

// span reads inline code, or the backticks alone when they are not closed on this line.
func span(s string) (n int, text string) {
	ticks := len(s) - len(strings.TrimLeft(s, "`"))
	for i := ticks; i < len(s); {
		if s[i] != '`' {
			i++
			continue
		}
		run := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
		if run == ticks {
			return i + run, uncalled(s[:i+run])
		}
		i += run
	}
	return ticks, s[:ticks]
}

// picture keeps an uploaded picture and makes a link of any other.
func picture(s string) (n int, text string) {
	bangs := len(s) - len(strings.TrimLeft(s, "!"))
	switch rest := s[bangs:]; {
	case !strings.HasPrefix(rest, "["):
		return bangs, s[:bangs]
	case bangs > 1 && uploaded(s[bangs-1:]) != "":
		return bangs - 1, s[:bangs-1]
	case bangs > 1:
		return bangs, s[:bangs-1] + zwsp
	}
	if p := uploaded(s); p != "" {
		return len(p), p
	}
	if strings.HasPrefix(s, "![](") {
		return len("![]"), "[图片]"
	}
	return 1, ""
}

// uploaded is the picture that s begins with, if its target looks like the key of an uploaded one.
func uploaded(s string) string {
	s = s[:min(len(s), 400)]
	if !strings.Contains(s, "](img_") {
		return ""
	}
	return upload.FindString(s)
}
