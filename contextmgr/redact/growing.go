package redact

import (
	"bytes"
	"slices"
	"strings"
)

// Growing redacts a text that grows at its end, such as an answer that is being written. No part of a find is shown
// before it is known to be one: an end that may become a find is held back. What cannot change any more is remembered,
// so that a look at the text costs what has come since the last one. The zero Growing has seen nothing.
type Growing struct{ settled, clean string }

// Next returns what can be shown of s, and the Growing for when it has grown.
func (g Growing) Next(s string, p Policy) (shown string, next Growing) {
	if !strings.HasPrefix(s, g.settled) {
		g = Growing{}
	}
	sc := newScan(s[len(g.settled):], p)
	key := unfinishedKey(sc.text)
	if mayMatch(sc.source, p) {
		sc.search()
	}
	if n := len(sc.found); n == 0 || sc.found[n-1].start > key || sc.found[n-1].end < len(sc.text) {
		sc.hold(key) // it is no find yet
	}
	end := settledEnd(sc)
	clean := g.clean + sc.write(0, end)
	shown = clean + sc.write(end, sc.open)
	return shown, Growing{s[:len(s)-len(sc.source[sc.sourceAt(end):])], clean}
}

// settledEnd is the position up to which the text remains as it is, whatever follows: the last line break before which
// nothing announces a find behind it. It lies before all that is held back, which is first made to hold whole finds.
func settledEnd(s *scan) int {
	for _, f := range slices.Backward(s.found) {
		if f.start < s.open && s.open < f.end {
			s.hold(f.start)
		}
	}
	end := s.open
	if n := len(s.found); n > 0 {
		end = min(end, s.found[n-1].end) // more of the last one may come
	}
	for end > 0 {
		end = bytes.LastIndexByte(s.text[:end], '\n') + 1
		i, inside := slices.BinarySearchFunc(s.found, end, func(f span, i int) int {
			switch {
			case f.end <= i:
				return -1
			case f.start >= i:
				return 1
			}
			return 0
		})
		switch {
		case inside:
			end = s.found[i].start
		case goesOn(s.text, end):
			end--
		default:
			return end
		}
	}
	return 0
}

// goesOn reports whether a find behind position i, which begins a line, may depend on what is before it.
func goesOn(text []byte, i int) bool {
	if i > 1 && text[i-2] == '\\' { // the line of a command goes on
		return true
	}
	for at := max(0, i-lookBack-maxLabel); at < i; at++ {
		if !beginsWord(text[:i], at) {
			continue
		}
		if k := keywordAt(text[:i], at); k != nil {
			start, _ := linkAt(text, at+len(k.word))
			if nextLine(text, start) >= i {
				return true
			}
		}
	}
	return false
}

// maxLabel is how far a label can be from the line that it announces.
const maxLabel = 64

// unfinishedKey is the position at which a text ends with what may be the beginning of a key; its length if with
// nothing of the kind.
func unfinishedKey(text []byte) int {
	word := len(text)
	for word > 0 && secretChar(text[word-1]) {
		word--
	}
	if word == len(text) {
		return word
	}
	earlier := bytes.ToLower(text[max(0, word-lookBack):word])
	if bytes.Contains(earlier, []byte("bearer")) || bytes.Contains(earlier, []byte("authorization")) {
		return word
	}
	token, letters, digits := word, 0, 0 // the token is the part of the word in which no key can begin but at its start
	for i := word; i < len(text); i++ {
		switch c := text[i]; {
		case isDigit(c):
			digits++
		case isLetter(c):
			letters++
		case isTokenChar(c), c == '.', c == '~', c == '+', c == '/', c == '%':
			letters, digits = 0, 0
		default:
			token, letters, digits = i+1, 0, 0
		}
		if digits > 0 && letters > 0 && digits+letters >= telling || begins(text, i) {
			return token
		}
	}
	return len(text)
}

// begins reports whether a key may have its lead at position i.
func begins(text []byte, i int) bool {
	for k := range keysAt(text, i) {
		inside := isAlnum(text[i]) && isAlnum(before(text, i)) && !keys[k].inner
		if !inside && (!keys[k].common || bytes.ContainsAny(text[min(len(text), i+len("pat")):], "0123456789")) {
			return true
		}
	}
	return false
}
