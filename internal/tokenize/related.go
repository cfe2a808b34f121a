package tokenize

import (
	"cmp"
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Related is a term with nearly the same meaning as a term of a text: doctor and physician.
type Related struct {
	Of       string  // the term of the text
	Term     string  // the related one
	Strength float64 // 1 = synonym
}

// The tables were written for this program: words of everyday life, work and software, one line per meaning. Any form
// of a word can be used. Two words belong together if a thesaurus would name one for the other, not because a test asks
// for one of them where a message has the other: such pairs raise the figures, but find nothing in other chats.

// Strengths between the words of a line.
const (
	synonyms   = 1.0 // the first word and the others before the bar
	siblings   = 0.7 // two of the others
	associates = 0.5 // a word before the bar and one after it
)

// maxRelated limits the related words of one word.
const maxRelated = 12

//go:embed related_en.txt
var relatedEnglish string

//go:embed related_zh.txt
var relatedChinese string

//go:embed related_both.txt
var relatedBoth string

// relatedWords are the related words of each word, the strongest first. English words are stemmed.
var relatedWords = sync.OnceValue(func() relations {
	all := relations{}
	for line := range strings.Lines(relatedEnglish + relatedChinese + relatedBoth) {
		if !strings.HasPrefix(line, "#") {
			all.addLine(line)
		}
	}
	for word, list := range all {
		slices.SortStableFunc(list, func(a, b Related) int { return cmp.Compare(b.Strength, a.Strength) })
		all[word] = slices.Clip(list[:min(len(list), maxRelated)])
	}
	return all
})

type relations map[string][]Related

func (r relations) addLine(line string) {
	same, other, _ := strings.Cut(line, "|")
	words, others := stemmedFields(same), stemmedFields(other)
	for i, a := range words {
		for j, b := range words {
			if i == 0 || j == 0 {
				r.add(a, b, synonyms)
			} else {
				r.add(a, b, siblings)
			}
		}
		for _, b := range others {
			r.add(a, b, associates)
			r.add(b, a, associates)
		}
	}
}

func (r relations) add(a, b string, strength float64) {
	of, term := termOf(a), termOf(b)
	if of == term || of == "" || term == "" {
		return
	}
	if i := slices.IndexFunc(r[a], func(r Related) bool { return r.Term == term }); i >= 0 {
		r[a][i].Strength = max(r[a][i].Strength, strength)
		return
	}
	r[a] = append(r[a], Related{of, term, strength})
}

func stemmedFields(s string) (words []string) {
	for w := range strings.FieldsSeq(s) {
		if !function[w] {
			words = append(words, stemOf(w))
		}
	}
	return words
}

// termOf is the index term of a word: of a Chinese one, its first two characters. Empty if the index has none.
func termOf(word string) string {
	first, size := utf8.DecodeRuneInString(word)
	if !isUnspaced(first) {
		if function[word] {
			return ""
		}
		return word
	}
	second, next := utf8.DecodeRuneInString(word[size:])
	if isParticle(first) && (next == 0 || isParticle(second)) {
		return ""
	}
	return word[:size+next]
}

// longestRelated is the length of the longest Chinese word that has related words, in characters.
const longestRelated = 4

// RelatedTo returns terms with nearly the same meaning as the terms of text, in its order; for each word the strongest
// first.
func RelatedTo(text string) (list []Related) {
	if !norm.NFKC.IsNormalString(text) {
		text = norm.NFKC.String(text)
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case isUnspaced(r):
			word := relatedPrefix(text[i:])
			list = append(list, relatedWords()[word]...)
			i += max(len(word), size)
		case isWordRune(r):
			var t terms
			i += t.addWords(text[i:])
			for _, term := range t.list {
				list = append(list, relatedWords()[term]...)
			}
		default:
			i += size
		}
	}
	return list
}

// relatedPrefix is the longest Chinese word with related words that text begins with.
func relatedPrefix(text string) (word string) {
	end := 0
	for range longestRelated {
		r, size := utf8.DecodeRuneInString(text[end:])
		if size == 0 || !isUnspaced(r) {
			break
		}
		end += size
		if _, ok := relatedWords()[text[:end]]; ok {
			word = text[:end]
		}
	}
	return word
}
