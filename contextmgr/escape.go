package contextmgr

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text that people wrote goes into the prompt between lines that give it its structure. A line of such text that
// could be taken for one of them, by the parser or by a reader who overlooks invisible and look-alike characters,
// gets a backslash in front. A line that has one in front already gets one more, so escaping can be undone exactly.

// isBreak reports whether r ends a line for any reader.
func isBreak(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}

// mapLines applies f to every line of text and leaves the line breaks as they are.
func mapLines(text string, f func(string) string) string {
	var b strings.Builder
	b.Grow(len(text) + 8)
	for {
		i := strings.IndexFunc(text, isBreak)
		if i < 0 {
			b.WriteString(f(text))
			return b.String()
		}
		b.WriteString(f(text[:i]))
		_, size := utf8.DecodeRuneInString(text[i:])
		b.WriteString(text[i : i+size])
		text = text[i+size:]
	}
}

func escape(text string) string {
	return mapLines(text, func(line string) string {
		if suspicious(line) {
			return `\` + line
		}
		return line
	})
}

func unescape(text string) string {
	return mapLines(text, func(line string) string {
		if strings.HasPrefix(line, `\`) && suspicious(line) {
			return line[1:]
		}
		return line
	})
}

// suspicious reports whether a line looks like structure. Backslashes in front make no difference, so that a line stays
// suspicious when it is escaped.
func suspicious(line string) bool {
	s := strings.TrimLeft(skeleton(line), `\`)
	if s == "" {
		return false
	}
	if len(s) >= 3 && strings.Trim(s, "-") == "" {
		return true
	}
	title, ok := strings.CutPrefix(s, "#")
	if !ok {
		return false
	}
	title = strings.TrimLeft(title, "#")
	if turnTitle.MatchString(title) {
		return true
	}
	title = strings.TrimRight(title, "#:-=_*.")
	return title == historyTitle || title == questionTitle
}

var turnTitle = regexp.MustCompile(`^\[[0-9]*\](` + userWord + `|` + assistantWord + `)`)

// maxSkeleton is as much of a line as matters, in bytes: structural lines are short, but a name may be padded.
const maxSkeleton = 256

// skeleton is what a reader sees of a line when invisible characters, blanks, widths and look-alikes make no difference.
func skeleton(line string) string {
	if !mayBeStructure(line) {
		return ""
	}
	var b strings.Builder
	for _, r := range line {
		if b.Len() >= maxSkeleton {
			break
		}
		if r = fold(r); r >= 0 {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// mayBeStructure is a quick look at the first visible character, which decides for nearly all lines.
func mayBeStructure(line string) bool {
	for _, r := range line {
		switch r = fold(r); {
		case r < 0 || r == '\\':
			continue
		default:
			return r == '#' || r == '-'
		}
	}
	return false
}

// fold maps a character to the one that it looks like, and an invisible one to -1.
func fold(r rune) rune {
	switch {
	case r > ' ' && r < 0x7F:
		return r
	case r >= 0xFF01 && r <= 0xFF5E: // full width
		return r - 0xFEE0
	case r == 0xFE5F || r == 0x266F:
		return '#'
	case r >= 0x2010 && r <= 0x2015, r == 0x2212, r == 0x2043, r == 0xFE58, r == 0xFE63, r == 0x2500, r == 0x2501, r == 0x2E3A, r == 0x2E3B, r == 0x30FC, r == 0x2796, r == 0x02D7:
		return '-'
	case r == 0xFE55 || r == 0x2236 || r == 0xA789 || r == 0x02D0 || r == 0xFE13:
		return ':'
	case r == 0x3010 || r == 0x3014 || r == 0x27E6 || r == 0x301A:
		return '['
	case r == 0x3011 || r == 0x3015 || r == 0x27E7 || r == 0x301B:
		return ']'
	case r == 0xFE68 || r == 0x29F5 || r == 0x2216:
		return '\\'
	case invisible(r):
		return -1
	case unicode.Is(unicode.Nd, r):
		return '0'
	}
	return r
}

// invisible reports whether r leaves no mark of its own: blanks, controls, formats, fillers, combining marks, and what
// has no agreed shape at all.
func invisible(r rune) bool {
	switch r {
	case 0x115F, 0x1160, 0x3164, 0xFFA0, 0x2800: // fillers and the blank Braille cell
		return true
	}
	return unicode.IsSpace(r) || !unicode.IsGraphic(r) || unicode.In(r, unicode.Mn, unicode.Me)
}
