package contextmgr

import (
	"strings"
	"unicode"
)

// terms are the words of a text in lower case, and the pairs of neighbours among its Chinese characters, each once.
func terms(text string) []string {
	var list []string
	seen := map[string]bool{}
	add := func(t string) {
		if !seen[t] {
			seen[t] = true
			list = append(list, t)
		}
	}
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, w := range words {
		run := []rune(w)
		for len(run) > 0 {
			n := 1
			han := unicode.Is(unicode.Han, run[0])
			for n < len(run) && unicode.Is(unicode.Han, run[n]) == han {
				n++
			}
			if !han || n == 1 {
				add(string(run[:n]))
			}
			for i := 1; han && i < n; i++ {
				add(string(run[i-1 : i+1]))
			}
			run = run[n:]
		}
	}
	return list
}
