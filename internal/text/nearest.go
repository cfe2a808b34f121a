package text

import (
	"strings"
	"unicode/utf8"
)

// Nearest finds the word that a mistyped one may stand for: it is one or two typing errors away, or begins with the
// mistyped one. Short words may have one typing error at most; otherwise nearly every one would match something: "stop"
// is not far from "setup".
func Nearest(mistyped string, words []string) (nearest string, ok bool) {
	least := 3
	mistyped = strings.ToLower(mistyped)
	n := utf8.RuneCountInString(mistyped)
	if n < 5 {
		least = 2
	}
	for _, w := range words {
		far := distance(mistyped, strings.ToLower(w))
		if n > 2 && strings.HasPrefix(strings.ToLower(w), mistyped) {
			far = 1
		}
		if far < least {
			nearest, least, ok = w, far, true
		}
	}
	return nearest, ok
}

// distance is the Damerau-Levenshtein distance: insertions, deletions, substitutions, and swaps of neighbours.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	// Three rows suffice: a swap looks back two.
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := range x {
		row[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}
