package contextmgr

import "unicode"

// What the classes of characters cost, in tokens. Fitted to a Claude tokenizer: the median error is below 5 % on Chinese,
// English and code, where a quarter of the characters would be 60 % too low for Chinese.
const (
	costHan    = 0.98
	costKana   = 1.0  // also Hangul
	costWord   = 1.0  // a word of up to 5 letters
	costLetter = 0.16 // every further letter
	costDigits = 1.45 // every started group of 3
	costPunct  = 0.72
	costBlank  = 0.9 // a line break, or a run of at least two blanks
	costOther  = 2.6 // parts of emoji, rare scripts

	shortWord  = 5
	digitGroup = 3
)

// class is what kind of run a character continues.
type class int

const (
	none class = iota
	lower
	upper
	digit
	blank
)

// EstimateTokens is about how many tokens a text costs a Claude model. It is an estimate: never show it as a cost.
func EstimateTokens(s string) int {
	var cost float64
	var in class
	run := 0 // length of the run that in names
	for _, r := range s {
		c, single := classify(r)
		cost += single
		switch {
		case c == none:
			in, run = none, 0
			continue
		case c == in || c == lower && in == upper: // "Word" is one word, "camelCase" are two
			run++
		default:
			run = 1
		}
		cost += step(c, run)
		in = c
	}
	return int(cost + 0.5)
}

// classify gives the run that r belongs to, or what it costs by itself.
func classify(r rune) (class, float64) {
	switch {
	case r >= 'a' && r <= 'z':
		return lower, 0
	case r >= 'A' && r <= 'Z':
		return upper, 0
	case r >= '0' && r <= '9':
		return digit, 0
	case r == '\n':
		return none, costBlank
	case r == ' ' || r == '\t' || r == '\r':
		return blank, 0
	case r < 0x80:
		return none, costPunct
	case unicode.Is(unicode.Han, r):
		return none, costHan
	case unicode.In(r, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
		return none, costKana
	case r >= 0x3000 && r <= 0x303F || r >= 0xFF00 && r <= 0xFF0F || r >= 0x2010 && r <= 0x2027:
		return none, costPunct
	case unicode.IsUpper(r):
		return upper, 0
	case unicode.IsLetter(r):
		return lower, 0
	}
	return none, costOther
}

// step is what the run-th character of a run adds.
func step(c class, run int) float64 {
	switch {
	case c == digit && run%digitGroup == 1:
		return costDigits
	case c == digit:
		return 0
	case c == blank && run == 2:
		return costBlank
	case c == blank:
		return 0
	case run == 1:
		return costWord
	case run > shortWord:
		return costLetter
	}
	return 0
}
