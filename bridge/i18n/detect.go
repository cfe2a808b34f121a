package i18n

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Detect guesses the language of a message: any Chinese character makes it Chinese, otherwise letters make it English.
// It is empty when the text does not tell.
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

// code is what a message holds between backticks: it is in nobody's language.
var code = regexp.MustCompile("(?s)```.*?(?:```|$)|`[^`\n]*`")

// everyday are words that English sentences have, and commands, names and queries hardly; little ones are those that
// these have as well.
var (
	everyday = strings.Fields(`the my your you i i'm i'd we our us it its it's that these those this what how why who
		when which please can could should would will is are was were am be been do does did don't have has had me them
		they their there here thanks thank`)
	little = strings.Fields(`and but for from of so than then to with`)
)

// isSentence reports whether a text has two such words of English, an everyday one among them.
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

// DetectSwitch is the language to which a text turns a chat that has spoken another one; empty = it does not tell. Who
// speaks Chinese writes commands, names and "ok" in Latin letters too, so only a sentence turns a Chinese chat to
// English.
func DetectSwitch(text string, before Lang) Lang {
	text = code.ReplaceAllString(text, " ")
	l := Detect(text)
	if l == English && before == Chinese && !isSentence(text) {
		return ""
	}
	return l
}
