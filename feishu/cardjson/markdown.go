package cardjson

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// The platform's Markdown and its limits are described on the page "Rich text (Markdown)" of JSON 2.0 cards
// (feishu-cards/card-json-v2-components/content-components/rich-text).

// maxTables is how many tables one card may show. The documentation allows 4 per element, and 5 per card were
// measured; other clients keep to 3, since one table too many makes the platform refuse the whole card.
const maxTables = 3

// zwsp is invisible and keeps what it separates from being read as markup.
const zwsp = "\u200b"

// sanitize makes an agent's Markdown harmless for a card. Tags are shown as text (an <at id=all> would notify
// everybody). Images that were not uploaded become links (one such image makes the platform refuse the card). Excess
// tables become code, and an open code block is closed.
//
// For text that grows line by line the output of complete lines does not change, except for the end of an open code
// block.
func sanitize(md string, tables int) string {
	w := writer{tables: tables}
	lines := strings.Split(stripControl(md), "\n")
	for i, line := range lines {
		next := ""
		if i+1 < len(lines) {
			next = lines[i+1]
		}
		w.line(line, next)
	}
	w.closeBlocks()
	return strings.TrimSuffix(w.out.String(), "\n")
}

// stripControl removes invalid UTF-8 and control characters.
func stripControl(s string) string {
	return strings.Map(func(r rune) rune {
		if (r < ' ' && r != '\n' && r != '\t') || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// writer processes the lines and tracks whether it is inside a code block or a table.
type writer struct {
	out         strings.Builder
	code        *fence // the open code block
	inTable     bool
	tableAsCode bool // the open table is shown as code
	tables      int  // how many more tables may be shown as such
	prose       prose
}

// line writes one line. It needs next because a line is the header of a table only if a separator line follows.
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
		// The fence is written without indent and list marker, which the platform does not accept; a marker gets its
		// own line.
		w.code = &f
		w.emit("```" + f.lang)
		return
	}
	if tableRow(line) && tableSeparator(next) {
		w.endTable()
		w.beginTable()
	}
	if w.tableAsCode {
		w.emit(codeText(brTag.ReplaceAllString(line, cellBreak)))
		return
	}
	w.prose.inTable = w.inTable
	w.emit(w.prose.line(line))
}

func (w *writer) codeLine(line string) {
	if w.code.closedBy(line) {
		w.code = nil
		w.emit("```")
		return
	}
	// The platform accepts no spaces around the fence, so the block loses the indent of its fence.
	spaces := len(line) - len(strings.TrimLeft(line, " \t"))
	w.emit(codeText(line[min(spaces, w.code.indent):]))
}

func (w *writer) beginTable() {
	w.inTable = true
	w.tableAsCode = w.tables <= 0
	w.tables--
	if w.tableAsCode {
		w.emit("```")
	}
}

func (w *writer) endTable() {
	if w.tableAsCode {
		w.emit("```")
	}
	w.inTable, w.tableAsCode = false, false
}

func (w *writer) closeBlocks() {
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
	upload = regexp.MustCompile(`^!\[[^\[\]\n]{0,200}\]\(img_[A-Za-z0-9_-]{16,100}\)`)
)

// codeText keeps code unchanged, except for a fence inside it (of a longer or another kind), and for the tag that
// mentions people: if the platform disagrees about where the code ends, nobody is notified.
func codeText(s string) string {
	if strings.HasPrefix(strings.TrimLeft(s, " \t"), "```") {
		s = zwsp + s
	}
	return withoutMentions(s)
}

// withoutMentions breaks the tags that mention people.
func withoutMentions(s string) string {
	if !strings.Contains(s, "<") {
		return s
	}
	return atTag.ReplaceAllString(s, "<"+zwsp+"$1")
}

// prose sanitizes lines outside code blocks.
type prose struct {
	opened  bool // an earlier line of the paragraph has unclosed backquotes
	opens   bool // so has this line
	inTable bool
	linked  bool // inside the words of a link
}

// line sanitizes a line.
func (p *prose) line(line string) string {
	p.opened, p.opens = p.opened || p.opens, false
	if strings.TrimSpace(line) == "" {
		p.opened = false
	}
	if m := box.FindStringSubmatchIndex(line); m != nil {
		mark := "☐"
		if line[m[4]] != ' ' {
			mark = "☑"
		}
		line = line[:m[3]] + mark + line[m[6]:]
	}
	return p.sanitizeInline(line)
}

// sanitizeInline sanitizes a line or a part of one.
func (p *prose) sanitizeInline(line string) string {
	if !strings.ContainsAny(line, "<!`*~") && !strings.Contains(line, "](") && !strings.Contains(line, "]:") &&
		!strings.Contains(line, "://") {
		return line
	}
	var b strings.Builder
	var emphasis emphasis
	joins := false // the last piece differs from the source
	for i := 0; i < len(line); {
		if line[i] == ']' && endsDefinition(line, i) {
			b.WriteString("]" + zwsp)
			i++
			continue
		}
		n, text := 0, ""
		switch {
		case line[i] == '*' || line[i] == '~':
			n, text = emphasis.run(line, i)
		case !p.linked && beginsAddress(line, i):
			n, text = address(line[i:])
		default:
			n, text = p.token(line[i:])
		}
		joins = joins || text != line[i:i+n]
		if joins && opensBlock(b.String(), text) {
			b.WriteString(zwsp)
		}
		joins = text != line[i:i+n]
		b.WriteString(text)
		i += n
	}
	return b.String()
}

// opensBlock reports whether a replaced text would gain a meaning after the text before it: as part of a longer run of
// backquotes, or at the beginning of the line as the start of a block.
func opensBlock(before, text string) bool {
	switch {
	case text == "":
		return false
	case strings.HasPrefix(text, "`"):
		return strings.HasPrefix(text, "```") || strings.HasSuffix(before, "`")
	}
	return strings.TrimSpace(before) == "" && strings.ContainsRune("~|-+*#>=", rune(text[0]))
}

// token reads the next piece of a line and returns it as written for the platform.
func (p *prose) token(s string) (n int, text string) {
	switch {
	case s[0] == '\\' && len(s) > 1 && s[1] == '<':
		return 2, "&lt;"
	case s[0] == '\\' && len(s) > 1 && strings.IndexByte("`\\*~", s[1]) >= 0:
		return 2, s[:2]
	case s[0] == '\\' && strings.HasPrefix(s[1:], "!["):
		return 2, "!" + zwsp
	case s[0] == '<':
		return p.tag(s)
	case s[0] == '`':
		return p.code(s)
	case s[0] == '!':
		return p.picture(s)
	case s[0] == '[':
		return p.link(s)
	case strings.HasPrefix(s, "](") && !leadsToWeb(s[2:]):
		return 1, "]" + zwsp // which [prose.link] could not parse
	}
	return 1, s[:1]
}

// brTag is the only tag that agents need, since a table's cell has one line.
var brTag = regexp.MustCompile(`(?i)<br[ \t]*/?>[ \t]*`)

// cellBreak stands for a line break in a table's cell, where the platform has none.
const cellBreak = " · "

// tag reads a tag: a line break, an address in angle brackets, or anything else, which is shown as text.
func (p *prose) tag(s string) (n int, text string) {
	if at := brTag.FindStringIndex(s[:min(len(s), longestTag)]); at != nil && at[0] == 0 {
		return at[1], p.newLine(s[at[1]:])
	}
	end := strings.IndexByte(s[:min(len(s), longestAddress)], '>')
	if end < 0 {
		return 1, "&lt;"
	}
	switch inner := strings.TrimPrefix(s[1:end], "mailto:"); {
	case mailbox.MatchString(inner):
		return end + 1, inner
	case bareAddress(inner) != inner || inner == "":
		return 1, "&lt;"
	case p.linked:
		return end + 1, inner
	default:
		return end + 1, explicitLink(inner)
	}
}

// newLine breaks a line before rest. What would begin a block there is only text.
func (p *prose) newLine(rest string) string {
	switch {
	case p.inTable && (rest == "" || rest[0] == '|'):
		return ""
	case p.inTable:
		return cellBreak
	case rest != "" && rest[0] < utf8.RuneSelf && !isWord(rest[0]):
		return "\n" + zwsp
	}
	return "\n"
}

// code reads inline code as [span] does. If an earlier line has unclosed backquotes, the platform may close them here,
// so that this is not code; its links are then broken, too.
func (p *prose) code(s string) (n int, text string) {
	n, text = codeSpan(s)
	if strings.Trim(s[:n], "`") == "" {
		p.opens = true
	} else if p.opened {
		text = noLinks.Replace(text)
	}
	return n, text
}

var noLinks = strings.NewReplacer("](", "]"+zwsp+"(", "]:", "]"+zwsp+":", "<", "<"+zwsp)

// codeSpan reads inline code, or only the backticks if they are not closed on this line.
func codeSpan(s string) (n int, text string) {
	ticks := len(s) - len(strings.TrimLeft(s, "`"))
	for i := ticks; i < len(s); {
		if s[i] != '`' {
			i++
			continue
		}
		run := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
		if run == ticks {
			return i + run, withoutMentions(s[:i+run])
		}
		i += run
	}
	return ticks, s[:ticks]
}

// picture keeps an uploaded image and turns any other into a link or plain text.
func (p *prose) picture(s string) (n int, text string) {
	bangs := len(s) - len(strings.TrimLeft(s, "!"))
	switch rest := s[bangs:]; {
	case !strings.HasPrefix(rest, "["):
		return bangs, s[:bangs]
	case bangs > 1 && uploadedImage(s[bangs-1:]) != "":
		return bangs - 1, s[:bangs-1]
	case bangs > 1:
		return bangs, s[:bangs-1] + zwsp
	}
	if image := uploadedImage(s); image != "" {
		return len(image), image
	}
	// Without a word in the brackets the link would be invisible.
	if strings.HasPrefix(s, "![](") {
		const named = "[图片]"
		target := s[len("![]"):min(len(s), len("![]")+2*longestTarget)]
		if n, text := p.link(named + target); n > 1 {
			return n - len(named) + len("![]"), text
		}
		if !leadsToWeb(s[len("![]("):]) {
			return len("![]"), named + zwsp
		}
		return len("![]"), named
	}
	return 1, ""
}

// uploadedImage is the image at the start of s, if its target looks like the key of an uploaded one.
func uploadedImage(s string) string {
	// An image reference is short; without the limit an unclosed one would be searched to the end of the
	// line again and again.
	s = s[:min(len(s), 400)]
	if !strings.Contains(s, "](img_") {
		return ""
	}
	return upload.FindString(s)
}
