package cardjson

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"magpie/internal/text"
)

// pageSize is the maximum size of a body on one card, in bytes as sent: a card is JSON inside JSON. A card entity holds
// 30 KB (page "Create card entity", cardkit-v1/card/create); the rest is for the elements around the body.
const pageSize = 12 << 10

// Split divides a text into pages that fit one card each. A page ends after a paragraph if possible, else after a line,
// else in a line: after a sentence, a clause or a word if one ends near, else before a character. A code block that
// continues is closed and opened again with its language; a table that continues gets its head again. A page break, once
// it exists, does not move while the text grows at its end.
func Split(text string) []string {
	var texts []string
	for _, p := range splitAfter("", text, pageSize) {
		texts = append(texts, p.render())
	}
	return texts
}

// fittingPrefix is as much of the beginning of a text as fits.
func fittingPrefix(text string, size int) string {
	end, known := pageEnd("", text, size)
	if end == len(text) {
		return text
	}
	tail, _ := splitSeam(text[:end], text[end:known], size)
	return text[:end] + tail + "…"
}

// page is a piece of a text, with the markup around it.
type page struct {
	carry string // reopens what the previous page had to close
	text  string
	tail  string // closes what continues on the next page
}

func (p page) render() string { return p.carry + p.text + p.tail }

// splitAfter divides the text that follows a page into pages of the given size; carry is what that page had to close.
func splitAfter(carry, text string, size int) []page {
	var pages []page
	for {
		end, known := pageEnd(carry, text, size)
		if end == len(text) {
			return append(pages, page{carry: carry, text: text})
		}
		p := page{carry: carry, text: text[:end]}
		p.tail, carry = splitSeam(carry+p.text, text[end:known], size)
		pages = append(pages, p)
		text = text[end:]
	}
}

// lastPageBreak is the last place in a text after carry where a page may end; 0 = none.
func lastPageBreak(carry, text string) (end int) {
	var s scan
	s.lines(carry)
	at := 0
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(line, "\n") {
			break
		}
		s.line(line)
		at += len(line)
		if s.prev == "" || s.head != "" {
			end = at
		}
	}
	return end
}

// scan processes the lines of a page and tracks whether it is inside a code block or a table.
type scan struct {
	code   *fence
	head   string // header and separator of the open table
	prev   string // the previous line, if it may be a table's header
	tables int
}

// line processes a complete line, including its newline.
func (s *scan) line(line string) {
	switch {
	case s.code != nil:
		if s.code.closedBy(line) {
			s.code = nil
		}
		return
	case s.prev != "" && tableSeparator(line):
		s.head, s.prev = s.prev+line, ""
		s.tables++
		return
	// A row of the open table may also be the header of another one, so it is remembered.
	case s.head != "" && tableRow(line):
		s.prev = line
		return
	}
	s.head, s.prev = "", ""
	if f, _, ok := opensFence(line); ok {
		s.code = &f
	} else if tableRow(line) {
		s.prev = line
	}
}

func (s *scan) lines(text string) {
	for line := range strings.Lines(text) {
		s.line(line)
	}
}

// splitSeam returns what closes a page and what the next one begins with, so that code and tables continue there.
func splitSeam(page, rest string, size int) (tail, carry string) {
	var s scan
	s.lines(page)
	switch {
	case s.code != nil:
		if !strings.HasSuffix(page, "\n") {
			tail = "\n"
		}
		return tail + s.code.mark + "\n", s.code.reopen()
	// A long head would take most of every following page, so it is not repeated.
	case s.head != "" && strings.HasSuffix(page, "\n") && cost(s.head) < size/4:
		next, _, _ := strings.Cut(rest, "\n")
		if tableRow(next) {
			return "", s.head
		}
	}
	return "", ""
}

// borders are the best places for the end of a page; 0 = none.
type borders struct{ half, paragraph, line int }

// pageEnd returns how much of the text fits on a page after carry. The decision depends only on text[:known], so any
// text that begins with it has the same page break.
func pageEnd(carry, text string, size int) (end, known int) {
	var s scan
	s.lines(carry)
	var (
		at   int
		b    borders
		used = cost(carry)
	)
	for line := range strings.Lines(text) {
		// Whether it fits comes first: a line may be much longer than a page.
		if n := fittingBytes(line, size-used); n < len(line) {
			end := b.bestBreak(text, at, n)
			return end, max(end, at+n)
		}
		used += cost(line)
		if !strings.HasSuffix(line, "\n") {
			break // the last line is incomplete and may become anything
		}
		header := len(s.prev)
		s.line(line)
		// This line made a table too many: the page ends before the table's header, which is the previous line.
		if s.tables > maxTables && at > header {
			return at - header, at + len(line)
		}
		at += len(line)
		switch {
		case s.code == nil && s.head == "" && strings.TrimSpace(line) == "":
			b.paragraph, b.line = at, at
		case s.prev == "" || s.head != "":
			b.line = at
		}
		// A paragraph that ends in the first half of the page is not a good place: the page would stay half empty.
		if used < size/2 {
			b.half = at
		}
	}
	return len(text), len(text)
}

// bestBreak ends a page where the line at position at does not fit; n bytes of that line do.
func (b borders) bestBreak(text string, at, n int) int {
	switch {
	case b.paragraph > b.half:
		return b.paragraph
	case b.line > 0:
		return b.line
	}
	return at + lineBreak(text[at:], n)
}

// fittingBytes returns how many bytes of the line fit into that cost.
func fittingBytes(line string, most int) int {
	for i, r := range line {
		if most -= costOf(r) + costOfLink(line, i); most < 0 {
			return i
		}
	}
	return len(line)
}

// shortenToCost truncates a text to that cost.
func shortenToCost(s string, most int) string {
	if cost(s) <= most {
		return s
	}
	return s[:fittingBytes(s, most-len("…"))] + "…"
}

// ends are places at which a line may be broken, the best first: after a sentence, after a clause, after a word. A
// closing quote or bracket belongs to what it closes.
var ends = []*regexp.Regexp{
	regexp.MustCompile(`[。！？；…][”’」』）》]*|[.!?]["')\]”’]*[ \t]+`),
	regexp.MustCompile(`[，、：][”’」』）》]*|[,;:]["')\]”’]*[ \t]+`),
	regexp.MustCompile(`[ \t]+`),
}

// lineBreak returns where to break a line of which n bytes fit: near there, and at least one rune after its beginning.
func lineBreak(s string, n int) int {
	near := n - n/8 // at most an eighth of the page stays empty
	for near < n && !utf8.RuneStart(s[near]) {
		near++
	}
	for _, end := range ends {
		if all := end.FindAllStringIndex(s[near:n], -1); len(all) > 0 {
			return near + all[len(all)-1][1]
		}
	}
	return graphemeEnd(s, n)
}

// graphemeEnd moves a page break to the left until it splits no grapheme cluster. It leaves at least one rune before it.
func graphemeEnd(s string, n int) int {
	end := n
	for end > 0 && n-end < 64 && !text.IsBoundary(s, end) {
		_, w := utf8.DecodeLastRuneInString(s[:end])
		end -= w
	}
	if end > 0 && text.IsBoundary(s, end) {
		return end
	}
	_, w := utf8.DecodeRuneInString(s)
	return max(n, w)
}

// cost is an upper bound of the bytes that a text takes in a request after sanitizing.
func cost(s string) int {
	n := 0
	for i, r := range s {
		n += costOf(r) + costOfLink(s, i)
	}
	return n
}

// costOfLink is what an address at i takes more if it is written as a link.
func costOfLink(s string, i int) int {
	n, text := 0, ""
	switch {
	case s[i] == '<' && strings.HasPrefix(s[i+1:], "http"):
		url := bareAddress(s[i+1:])
		n, text = len(url), explicitLink(url)
	case beginsAddress(s, i):
		n, text = address(s[i:])
	}
	return len(text) - n
}

// costOf is the largest number of bytes that one rune takes after escaping: as Markdown, as JSON, and as JSON inside
// JSON.
func costOf(r rune) int {
	switch {
	case r == '"' || r == '\\' || r == '<' || r == ']':
		return 4 // \\\" and \\\\ and &lt; and a mark that keeps it from ending a link
	case r == '\n' || r == '\t':
		return 3 // \\n
	case r == '*':
		return 2 // may get a space
	case r == '`' || r == '!' || r == '~':
		return 6 // may get a mark that keeps it from being markup, or be &#126;
	case r < ' ' || r == utf8.RuneError || r == '\u2028' || r == '\u2029':
		return 7 // \\u2028
	default:
		return utf8.RuneLen(r)
	}
}
