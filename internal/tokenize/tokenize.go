// Package tokenize turns text into the terms under which it is found: what the index of the History keeps, and what a
// question is looked up by. It knows Chinese and English; other languages are found by their plain words.
//
//   - Han, kana and hangul have no blanks between words: every two neighbouring characters are a term, and every
//     character that can be a word of its own.
//   - Other words are folded (width, case), split where camelCase and snake_case have their joints, and stemmed.
//   - Words that nobody looks for (the, 的) are no terms.
//
// The terms of a text never change under one [Version]: an index that was built with other terms has to
// be rebuilt. [RelatedTo] looks up other words that say the same; it changes no term.
//
// Storing an index (db) and ranking what it finds (contextmgr) do not belong here.
package tokenize

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"magpie/internal/text"
)

// Version must be raised with every change of the terms, stem rules and word lists included.
const Version = 1

// longest is how many bytes of a word are used. A longer word is a key, a hash or a URL, and 48 bytes distinguish
// those.
const longest = 48

// longestStemmed is the longest word that is stemmed. The stemmer takes quadratic time, and a word of a message may be as
// long as the message.
const longestStemmed = 2 * longest

// Terms are the terms of text, in its order, with repetitions.
func Terms(text string) []string {
	// Width, ligatures and composed accents must not decide whether a word is found. Most text is
	// normal already, and checking costs less than converting.
	if !norm.NFKC.IsNormalString(text) {
		text = norm.NFKC.String(text)
	}
	t := terms{list: make([]string, 0, len(text)/5)}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case isUnspaced(r):
			i += t.addCharacters(text[i:])
		case isWordRune(r):
			i += t.addWords(text[i:])
		default:
			i += size
		}
	}
	return t.list
}

// mark begins the terms that are not words. It is neither a letter nor a digit, so no text can produce such a term.
const mark = "§"

// Day is the term for the day of t, in UTC.
func Day(t time.Time) string { return mark + t.UTC().Format("20060102") }

// Month is the term for the month of t, in UTC.
func Month(t time.Time) string { return mark + t.UTC().Format("200601") }

type terms struct{ list []string }

// isUnspaced reports whether r belongs to a script without spaces between words.
func isUnspaced(r rune) bool {
	return r >= 0x2E80 && (isHan(r) || unicode.In(r, unicode.Hiragana, unicode.Katakana, unicode.Hangul))
}

func isHan(r rune) bool {
	return r >= 0x4E00 && r <= 0x9FFF || r >= 0x2E80 && unicode.Is(unicode.Han, r)
}

func isWordRune(r rune) bool {
	return r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9') ||
		r >= 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r)) && !isUnspaced(r)
}

// addCharacters adds the terms of the run of such characters that s begins with, and returns its length in bytes. A
// pair of two particles is skipped: it would be in nearly every message and find nothing.
func (t *terms) addCharacters(s string) int {
	before, beforeAt, idle := rune(0), 0, false
	i := 0
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if !isUnspaced(r) {
			break
		}
		serves := isParticle(r)
		if before != 0 && !(idle && serves) {
			t.list = append(t.list, s[beforeAt:i+size])
		}
		if !serves && isHan(r) {
			t.list = append(t.list, s[i:i+size])
		}
		before, beforeAt, idle = r, i, serves
		i += size
	}
	return i
}

// addWords adds the terms of the word that s begins with, and returns its length in bytes. Parts joined by an
// underscore, an apostrophe or a change of case are separate terms, besides the whole: parseConfig is found by
// parseconfig and by config.
func (t *terms) addWords(s string) int {
	end, joints := 0, 0
	var last rune
	for end < len(s) {
		r, size := utf8.DecodeRuneInString(s[end:])
		if isJoint(r) {
			next, _ := utf8.DecodeRuneInString(s[end+size:])
			// A joint must be followed by more of the word; otherwise it is punctuation.
			if end+size >= len(s) || !isWordRune(next) || isUnspaced(next) {
				break
			}
			joints++
		} else if !isWordRune(r) {
			break
		} else if isLowerOrDigit(last) && unicode.IsUpper(r) {
			joints++
		}
		last = r
		end += size
	}
	whole := s[:end]
	if joints == 0 {
		t.add(whole)
		return end
	}
	parts := split(whole)
	// With an apostrophe the whole would be a word that nobody writes.
	if len(parts) > 1 && !strings.ContainsAny(whole, "'’") {
		t.addWhole(strings.ToLower(strings.ReplaceAll(whole, "_", "")))
	}
	for _, p := range parts {
		t.add(p)
	}
	return end
}

// isJoint reports whether r can be inside a word.
func isJoint(r rune) bool { return r == '_' || r == '\'' || r == '’' }

func isLowerOrDigit(r rune) bool { return r != 0 && (unicode.IsLower(r) || unicode.IsDigit(r)) }

// split cuts a word at its joints: parseHTTPRequest is parse, HTTP and Request; the s of "Tom's" is dropped.
func split(word string) []string {
	var parts []string
	for piece := range strings.FieldsFuncSeq(word, isJoint) {
		runes := []rune(piece)
		start := 0
		for i := 1; i < len(runes); i++ {
			up := unicode.IsUpper(runes[i])
			if up && isLowerOrDigit(runes[i-1]) || up && unicode.IsUpper(runes[i-1]) && i+
				1 < len(runes) && unicode.IsLower(runes[i+1]) {
				parts = append(parts, string(runes[start:i]))
				start = i
			}
		}
		parts = append(parts, string(runes[start:]))
	}
	return parts
}

// add adds one word, folded and stemmed, unless it is a function word.
func (t *terms) add(word string) {
	word = strings.ToLower(text.Prefix(word, 2*longestStemmed))
	switch {
	case function[word]:
	case len(word) > longestStemmed: // what the stemmer takes away is beyond the part that is used
		t.addWhole(word)
	default:
		t.addWhole(stemOf(word))
	}
}

// addWhole cuts at a rune, so that a term is valid UTF-8.
func (t *terms) addWhole(word string) {
	if word = text.Prefix(word, longest); word != "" {
		t.list = append(t.list, word)
	}
}
