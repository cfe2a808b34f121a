package text

import (
	"strings"
	"unicode/utf8"
)

// Plain returns what a terminal shows of a text in the end: without escape sequences, such as those for colours, also
// unfinished ones, and without other control characters. Of a line that was written again and again, such as a progress
// bar, only the last state remains.
func Plain(s string) string {
	first := firstControl(s)
	if first == len(s) {
		return s
	}
	t := terminal{out: append(make([]byte, 0, len(s)), s[:first]...), line: strings.LastIndexByte(s[:first], '\n') + 1}
	for i := first; i < len(s); {
		r, width := utf8.DecodeRuneInString(s[i:])
		if r == '\x1b' || r >= 0x80 && r <= 0x9F {
			i += t.escape(s[i:], r, width)
			continue
		}
		t.write(s[i:i+width], r)
		i += width
	}
	return string(t.out)
}

// firstControl is the position of the first control character; the length of the text if there is none.
func firstControl(s string) int {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= ' ' && c < 0x7F, c == '\n', c == '\t', c > 0xC2:
		case c < ' ', c == 0x7F, c == 0xC2 && i+1 < len(s) && s[i+1] <= 0x9F: // 0xC2 begins U+0080 to U+00BF
			return i
		}
	}
	return len(s)
}

// isControl reports whether r is a control character that is not a line break or a tab.
func isControl(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r >= 0x7F && r <= 0x9F }

// terminal is a terminal with one line that can be written again, and lines above it that cannot.
type terminal struct {
	out    []byte
	line   int  // where the last line begins
	atHead bool // what is written next replaces the line
}

// write writes a character.
func (t *terminal) write(char string, r rune) {
	switch {
	case r == '\n', r == '\v', r == '\f':
		t.out, t.atHead = append(t.out, '\n'), false
		t.line = len(t.out)
	case r == '\r':
		t.atHead = true
	case r == '\b':
		if len(t.out) > t.line {
			_, width := utf8.DecodeLastRune(t.out)
			t.out = t.out[:len(t.out)-width]
		}
	case !isControl(r):
		if t.atHead {
			t.out, t.atHead = t.out[:t.line], false
		}
		t.out = append(t.out, char...)
	}
}

// escape obeys the escape sequence at the beginning of s, and returns its length. Its first character may be one of
// eight bits (C1) in place of ESC and another; see ECMA-48.
func (t *terminal) escape(s string, first rune, width int) int {
	n := width
	if first == '\x1b' {
		if n == len(s) {
			return n
		}
		first = rune(s[n]) + 0x40 // ESC [ is U+009B
		n++
	}
	switch first {
	case 0x9B: // CSI: parameters, and the letter that says what they are for
		start := n
		for n < len(s) && s[n] >= 0x20 && s[n] <= 0x3F {
			n++
		}
		if n < len(s) && s[n] >= 0x40 && s[n] <= 0x7E {
			t.control(s[start:n], s[n])
			n++
		}
	case 0x9D, 0x90, 0x98, 0x9E, 0x9F: // OSC (titles, links), DCS, SOS, PM, APC: text up to ST or BEL
		for n < len(s) && s[n] != '\n' {
			switch {
			case s[n] == '\a':
				return n + 1
			case strings.HasPrefix(s[n:], "\x1b\\"), strings.HasPrefix(s[n:], "\u009c"):
				return n + 2
			case s[n] == '\x1b': // the sequence was cut off
				return n
			}
			n++
		}
	default:
		if first >= 0x60 && first <= 0x6F { // ESC ( B: other characters in between
			for n < len(s) && s[n] >= 0x20 && s[n] <= 0x2F {
				n++
			}
			if n < len(s) && s[n] >= 0x30 && s[n] <= 0x7E {
				n++
			}
		}
		if first < 0x60 || first > 0xBE { // no sequence: what stands behind ESC is text
			n = min(n, width)
		}
	}
	return n
}

// control obeys the control sequences by which programs write a line again.
func (t *terminal) control(parameters string, letter byte) {
	switch {
	case letter == 'G' && (parameters == "" || parameters == "0" || parameters == "1"): // to the first column
		t.atHead = true
	case letter == 'K' && parameters == "2": // erase the line
		t.out, t.atHead = t.out[:t.line], false
	}
}
