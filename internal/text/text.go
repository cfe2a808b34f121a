// Package text cuts text without dividing characters, and knows which characters readers cannot see, and which look
// alike. It does not handle escaping, redaction or layout.
package text

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// ellipsis replaces what was cut off.
const ellipsis = "…"

// longest is the maximum number of runes in a character as people see it. Real ones have about a dozen; a longer one is
// abuse, and may be divided.
const longest = 32

// IsBoundary reports whether s can be cut at byte i without dividing a character as people see it: an emoji with its
// skin tone, a flag, a letter with its accents. Only the rune at i and the text before it decide, so the result stays
// true while s grows at its end.
func IsBoundary(s string, i int) bool {
	if i <= 0 || i >= len(s) {
		return true
	}
	const zwj = '\u200d'
	before, width := utf8.DecodeLastRuneInString(s[:i])
	next, after := utf8.DecodeRuneInString(s[i:])
	// stricter than Unicode: not only emoji are joined
	if before == zwj || next == zwj || unicode.Is(unicode.M, next) {
		return false
	}
	if isFlag(before) && isFlag(next) { // flags are pairs, counted from the first letter
		pairs := true
		for at := i; at > 0 && isFlag(before); at -= width {
			pairs = !pairs
			before, width = utf8.DecodeLastRuneInString(s[:at-width])
		}
		return pairs
	}
	cluster, _, _, _ := uniseg.FirstGraphemeClusterInString(s[i-width:i+after], -1)
	return len(cluster) == width
}

// isFlag reports whether r is one of the letters that are drawn as a flag in pairs.
func isFlag(r rune) bool { return r >= 0x1F1E6 && r <= 0x1F1FF }

// Border is the place next to i at which runes can be cut without dividing a character as people see it: i itself, or
// else the nearest one in the direction of step, which is -1 or 1. A character of dozens of runes is divided at i.
func Border(runes []rune, i, step int) int {
	at := i
	for range longest {
		if at <= 0 || at >= len(runes) || isBorder(runes, at) {
			return at
		}
		at += step
	}
	if at <= 0 || at >= len(runes) {
		return at
	}
	return i
}

func isBorder(runes []rune, i int) bool {
	start := i - 1
	// IsBoundary counts the flags before the place, so it needs all of them; other characters
	// need one rune.
	for start > 0 && isFlag(runes[start]) && isFlag(runes[start-1]) {
		start--
	}
	before := string(runes[start:i])
	return IsBoundary(before+string(runes[i]), len(before))
}

// Shorten returns s if it has at most this many runes, and otherwise its beginning and an ellipsis, together at most
// this many. It divides no character as people see it, and no mark of redaction.
func Shorten(s string, most int) string {
	// A string never has more runes than bytes, so most calls need not count.
	if len(s) <= most || utf8.RuneCountInString(s) <= most {
		return s
	}
	runes := []rune(s)
	return string(runes[:Cut(runes, most-1)]) + ellipsis
}

// Cut is the last place up to end that divides neither a character as people see it nor a mark of redaction, such as
// [REDACTED_PHONE].
func Cut(runes []rune, end int) int {
	end = Border(runes, end, -1)
	for from := end - 1; from >= max(0, end-longestMark) && runes[from] != ']'; from-- {
		if runes[from] == '[' && mark.MatchString(string(runes[from:min(len(runes), from+longestMark)])) {
			return from
		}
	}
	return end
}

// mark is what replaces redacted text, which is at most so many runes.
var mark = regexp.MustCompile(`^\[REDACTED_[A-Z_]+\]`)

const longestMark = 32

// OneLine replaces line breaks, and other space between words, with single spaces.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Clip returns s if it has at most this many bytes, and otherwise its beginning and an ellipsis, together at
// most this many. It divides no rune.
func Clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return Prefix(s, most-len(ellipsis)) + ellipsis
}

// Prefix returns the longest beginning of s in whole runes that has at most this many bytes.
func Prefix(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:max(most, 0)]
}

// Fence returns the backquotes that enclose s in Markdown as a block of code: at least three, and more than any run of
// them in s.
func Fence(s string) string { return strings.Repeat("`", max(3, LongestRun(s, '`')+1)) }

// LongestRun is the length of the longest run of c in s.
func LongestRun(s string, c byte) (longest int) {
	run := 0
	for i := range len(s) {
		if s[i] != c {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// Mend replaces what is no text, and what PostgreSQL does not store in one: bytes that are no UTF-8, and NUL.
func Mend(s string) string {
	if strings.IndexByte(s, 0) < 0 && utf8.ValidString(s) {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
