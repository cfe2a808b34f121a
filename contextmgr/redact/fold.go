package redact

import "unicode/utf8"

// fold converts full-width forms, and the many spaces and dashes, to one ASCII byte each. origin maps each byte of the
// result, and its end, to a position in s; nil = positions are the same.
func fold(s string) (text []byte, origin []int) {
	first := 0
	for first < len(s) {
		r, size := utf8.DecodeRuneInString(s[first:])
		if _, ok := plainForm(r); ok {
			break
		}
		first += size
	}
	// Most texts need no folding; then nothing is mapped.
	if first == len(s) {
		return []byte(s), nil
	}
	text, origin = make([]byte, 0, len(s)), make([]int, 0, len(s)+1)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if c, ok := plainForm(r); ok {
			text, origin = append(text, c), append(origin, i)
		} else {
			for k := range size {
				text, origin = append(text, s[i+k]), append(origin, i+k)
			}
		}
		i += size
	}
	return text, append(origin, len(s))
}

// plainForm is the ASCII character for r. Chinese commas and full stops are kept: they end a run that an ASCII one may
// continue.
func plainForm(r rune) (byte, bool) {
	switch {
	case r < 0xA0:
		return 0, false
	case r == 0xFF0C || r == 0xFF1B || r == 0xFF01 || r == 0xFF1F: // ，；！？
		return 0, false
	case r > 0xFF00 && r < 0xFF5F:
		return byte(r - 0xFF00 + ' '), true
	case r == 0xA0, r >= 0x2000 && r <= 0x200A, r == 0x202F, r == 0x205F, r == 0x3000:
		return ' ', true
	case r >= 0x2010 && r <= 0x2015, r == 0x2212, r == 0xFE63:
		return '-', true
	}
	return 0, false
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isAlnum(c byte) bool  { return isDigit(c) || isLetter(c) }
func isHex(c byte) bool    { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

// before is the character before position i; 0 = none.
func before(text []byte, i int) byte {
	if i <= 0 || i > len(text) {
		return 0
	}
	return text[i-1]
}

// at is the character at position i; 0 = none.
func at(text []byte, i int) byte {
	if i < 0 || i >= len(text) {
		return 0
	}
	return text[i]
}
