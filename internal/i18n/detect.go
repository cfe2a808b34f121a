package i18n

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Detect guesses the language of a message: any Chinese character makes it Chinese, otherwise letters make it English.
// Empty = unknown.
func Detect(text string) Lang {
	letters := 0
	for _, r := range text {
		switch {
		case unicode.Is(unicode.Han, r):
			return Chinese
		case unicode.IsLetter(r):
			letters++
		}
	}
	// One or two letters may be a name, a unit or a typing error.
	if letters >= 3 {
		return English
	}
	return ""
}

// code matches text between backticks, which has no language.
var code = regexp.MustCompile("(?s)```.*?(?:```|$)|`[^`\n]*`")

// everyday are words typical of English sentences and rare in commands, names and queries; little are words common in
// both.
var (
	everyday = strings.Fields(`the my your you i i'm i'd we our us it its it's that these those this what how why who
		when which please can could should would will is are was were am be been do does did don't have has had me them
		they their there here thanks thank`)
	little = strings.Fields(`and but for from of so than then to with`)
)

// isSentence reports whether a text has two of these English words, at least one of them from everyday.
func isSentence(text string) bool {
	marked, n := false, 0
	for word := range strings.FieldsSeq(strings.ReplaceAll(strings.ToLower(text), "’", "'")) {
		word = strings.Trim(word, ".,;:!?()\"'…")
		if slices.Contains(everyday, word) {
			marked = true
			n++
		} else if slices.Contains(little, word) {
			n++
		}
	}
	return marked && n > 1
}

// DetectSwitch returns the language that a text switches a chat to, which used another one before; empty = no switch.
// Chinese speakers write commands, names and "ok" in Latin letters too, so only a sentence switches a Chinese chat to
// English.
func DetectSwitch(text string, before Lang) Lang {
	text = code.ReplaceAllString(text, " ")
	l := Detect(text)
	if l == English && before == Chinese && !isSentence(text) {
		return ""
	}
	return l
}
