package redact

import "strings"

// mayMatch reports whether s may contain anything to redact. It is much cheaper than a search.
func mayMatch(s string) bool {
	digits, colons := 0, 0
	for i := range len(s) {
		c := s[i]
		switch {
		case isDigit(c):
			if digits++; digits > 3 { // 1.1.1.1
				return true
			}
		case c == ':':
			if colons++; colons > 6 || strings.HasPrefix(s[i:], "::") || strings.HasPrefix(s[i:], "://") {
				return true
			}
		case c == '@', fullWidth(s[i:]), c == '-' && strings.HasPrefix(s[i:], "-----BEGIN"):
			return true
		case keywordAt(s, i) != nil:
			return true
		}
		for range keysAt(s, i) {
			return true
		}
	}
	return false
}

// fullWidth reports whether s starts with a full-width letter, digit or @.
func fullWidth(s string) bool {
	if len(s) < 3 || s[0] != 0xEF {
		return false
	}
	c := s[2]
	return s[1] == 0xBC && (c >= 0x90 && c <= 0x99 || c >= 0xA0 && c <= 0xBA) || s[1] == 0xBD && c >= 0x81 && c <= 0x9A
}
