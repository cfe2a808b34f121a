package redact

import "bytes"

// lookBack is how many bytes before a number are searched for a keyword.
const lookBack = 40

// between are words that may come between a keyword and its number.
var between = []string{"号码", "号", "number", "no", "id", "is", "是", "为", "从"}

// precededBy reports whether one of the words precedes position i: "手机号码是：", "SSN #".
func precededBy(text []byte, i int, words []string) bool {
	text = text[max(0, i-lookBack):i]
	for {
		text = bytes.TrimRight(text, " .:=#(\"'*")
		if endsWith(text, words) > 0 {
			return true
		}
		n := endsWith(text, between)
		if n == 0 {
			return false
		}
		text = text[:len(text)-n]
	}
}

// endsWith is the length of the word that ends a text; 0 = none of them. The words are in lower case.
func endsWith(text []byte, words []string) int {
	if c := before(text, len(text)); !isLetter(c) && c < 0x80 {
		return 0
	}
	for _, w := range words {
		start := len(text) - len(w)
		if start >= 0 && equalFold(text[start:], w) && (!isLetter(w[0]) || !isLetter(before(text, start))) {
			return len(w)
		}
	}
	return 0
}

// equalFold compares with a word in lower case.
func equalFold[T []byte | string](s T, small string) bool {
	for i := range len(small) {
		if c := s[i]; c != small[i] && (!isLetter(c) || c|0x20 != small[i]) {
			return false
		}
	}
	return true
}
