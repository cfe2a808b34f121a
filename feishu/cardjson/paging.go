package cardjson

import (
	"strings"
	"unicode/utf8"

	"magpie/internal/text"
)

// pageSize is how much of a body one card takes, counted as it is sent: a card is JSON inside of JSON. A card entity
// holds 30 KB (page "Create card entity", cardkit-v1/card/create); the rest is for what stands around the body.
const pageSize = 12 << 10

// Split cuts a text into pages that fit one card each. A page ends after a paragraph if it can, else after a line,
// else before a letter. A code block that goes on is closed and opened again with its language; a table that goes on
// gets its head again. A border, once it is there, stays where it is while the text grows at its end.
func Split(text string) []string {
	var texts []string
	for _, p := range splitAfter("", text, pageSize) {
		texts = append(texts, p.drawn())
	}
	return texts
}

// opening is the beginning of a text, as much as fits.
func opening(text string, size int) string {
	end, known := pageEnd("", text, size)
	if end == len(text) {
		return text
	}
	tail, _ := seam(text[:end], text[end:known], size)
	return text[:end] + tail + "…"
}

// page is a piece of a text with what goes around it.
type page struct {
	carry string // opens again what the page before had to close
	text  string
	tail  string // closes what goes on in the next page
}

func (p page) drawn() string { return p.carry + p.text + p.tail }

// splitAfter cuts what follows a page into pages of that size; carry is what that page had to close.
func splitAfter(carry, text string, size int) []page {
	var pages []page
	for {
		end, known := pageEnd(carry, text, size)
		if end == len(text) {
			return append(pages, page{carry: carry, text: text})
		}
		p := page{carry: carry, text: text[:end]}
		p.tail, carry = seam(carry+p.text, text[end:known], size)
		pages = append(pages, p)
		text = text[end:]
	}
}

// lastBorder is the last place in a text behind carry where a page may end; 0 is none.
func lastBorder(carry, text string) (end int) {
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

// scan goes over the lines of a page and knows in what it is.
type scan struct {
	code   *fence
	head   string // header and separator of the open table
	prev   string // the line before, when it may be a table's header
	tables int
}

// line takes a complete line, with its end.
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

// seam says what closes a page and what the next one begins with, so that code and tables go on there.
func seam(page, rest string, size int) (tail, carry string) {
	var s scan
	s.lines(page)
	switch {
	case s.code != nil:
		if !strings.HasSuffix(page, "\n") {
			tail = "\n"
		}
		return tail + s.code.mark + "\n", s.code.reopen()
	case s.head != "" && strings.HasSuffix(page, "\n") && cost(s.head) < size/4:
		next, _, _ := strings.Cut(rest, "\n")
		if tableRow(next) {
			return "", s.head
		}
	}
	return "", ""
}

// borders are the places where a page may end well; 0 is none.
type borders struct{ half, paragraph, line int }

// pageEnd says how much of the text goes on a page behind carry. Only text[:known] decides about it, and so any text
// that begins with it has the same page.
func pageEnd(carry, text string, size int) (end, known int) {
	var s scan
	s.lines(carry)
	var (
		at   int
		b    borders
		used = cost(carry)
	)
	for line := range strings.Lines(text) {
		if wide := cost(line); used+wide <= size {
			used += wide
		} else {
			n := fitting(line, size-used)
			end := b.choose(text, at, n)
			return end, max(end, at+n)
		}
		if !strings.HasSuffix(line, "\n") {
			break // the last one: it may still become anything
		}
		header := len(s.prev)
		s.line(line)
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
		if used < size/2 {
			b.half = at
		}
	}
	return len(text), len(text)
}

// choose ends a page whose line at the given place does not fit; n bytes of that line do.
func (b borders) choose(text string, at, n int) int {
	switch {
	case b.paragraph > b.half:
		return b.paragraph
	case b.line > 0:
		return b.line
	}
	return at + letterEnd(text[at:], n)
}

// fitting says how many bytes of the line cost no more than that.
func fitting(line string, most int) int {
	for i, r := range line {
		if most -= costOf(r); most < 0 {
			return i
		}
	}
	return len(line)
}

// shorten cuts a text off so that it costs no more than that.
func shorten(s string, most int) string {
	if cost(s) <= most {
		return s
	}
	return s[:fitting(s, most-len("…"))] + "…"
}

// letterEnd moves a border to the left until it divides no letter, and to a space if there is one near by; but it
// leaves at least one rune before it.
func letterEnd(s string, n int) int {
	if space := strings.LastIndexAny(s[:n], " \t"); space >= n-n/8 && space > 0 {
		return space + 1
	}
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

// cost is an upper bound of the bytes that a text takes in a request once it is safe.
func cost(s string) int {
	n := 0
	for _, r := range s {
		n += costOf(r)
	}
	return n
}

func costOf(r rune) int {
	switch {
	case r == '"' || r == '\\' || r == '<':
		return 4 // \\\" and \\\\ and &lt;
	case r == '\n' || r == '\t':
		return 3 // \\n
	case r == '`' || r == '!':
		return 6 // may get a mark that keeps it from being markup
	case r < ' ' || r == utf8.RuneError || r == '\u2028' || r == '\u2029':
		return 7 // \\u2028
	default:
		return utf8.RuneLen(r)
	}
}
