package redact

import (
	"bytes"
	"strings"
)

// mayMatch reports whether s may contain anything to redact. It is much cheaper than a search.
func mayMatch(s string, p Policy) bool {
	personal := p&^Keys != 0
	digits, colons, run := 0, 0, 0
	for i := range len(s) {
		c := s[i]
		if isTokenChar(c) {
			run++
		} else {
			if c == '.' && run >= discordID { // see dottedKeys
				return true
			}
			run = 0
		}
		switch {
		case isDigit(c) && personal:
			if digits++; digits > 3 { // 1.1.1.1
				return true
			}
		case c == ':':
			colons++
			if personal && (colons > 6 || strings.HasPrefix(s[i:], "::")) || strings.HasPrefix(s[i:], "://") {
				return true
			}
		case c == '@' && personal, fullWidth(s[i:]), c == '-' && strings.HasPrefix(s[i:], "-----BEGIN"):
			return true
		}
		if !beginsWord(s, i) {
			continue
		}
		if keywordAt(s, i) != nil || commandAt(s, i) != nil {
			return true
		}
		for range keysAt(s, i) {
			return true
		}
	}
	return false
}

// pairs are the first two bytes of all words that are searched for. Most positions of a text begin none of them, and
// this tells it with one look.
var pairs = func() (set [256][4]uint64) {
	add := func(a, b byte) { set[a][b>>6] |= 1 << (b & 63) }
	for _, list := range leadsBy {
		for _, l := range list {
			add(l.word[0], l.word[1])
		}
	}
	for _, c := range commands {
		add(c.name[0], c.name[1])
	}
	for _, k := range keywords { // in both cases
		for _, a := range []byte{k.word[0], bytes.ToUpper([]byte(k.word[:1]))[0]} {
			add(a, k.word[1])
			add(a, bytes.ToUpper([]byte(k.word[1:2]))[0])
		}
	}
	return set
}()

// beginsWord reports whether one of the words that are searched for may begin at position i.
func beginsWord[T []byte | string](text T, i int) bool {
	if i+1 >= len(text) {
		return false
	}
	b := text[i+1]
	return pairs[text[i]][b>>6]&(1<<(b&63)) != 0
}

// fullWidth reports whether s starts with a full-width letter, digit or @.
func fullWidth(s string) bool {
	if len(s) < 3 || s[0] != 0xEF {
		return false
	}
	c := s[2]
	return s[1] == 0xBC && (c >= 0x90 && c <= 0x99 || c >= 0xA0 && c <= 0xBA) || s[1] == 0xBD && c >= 0x81 && c <= 0x9A
}
