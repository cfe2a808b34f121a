package tokenize

import (
	"slices"
	"strings"
	"testing"
)

func TestRelatedTo(t *testing.T) {
	for text, want := range map[string]Related{
		"Which physician was it?":    {"physician", "doctor", synonyms},
		"who is the Doctor":          {"doctor", "physician", synonyms},
		"how many pills":             {"pill", "tablet", synonyms},
		"她的女儿几岁":                     {"女儿", "闺女", synonyms},
		"老太太说了什么":                    {"老太", "长辈", siblings},
		"the database was slow":      {"databas", "数据", synonyms}, // a longer word is listed under its first two characters
		"ｄｏｃｔｏｒ":                     {"doctor", "physician", synonyms},
		"is there a dentist nearby?": {"dentist", "tooth", synonyms},
	} {
		if list := RelatedTo(text); !slices.Contains(list, want) {
			t.Errorf("%q is related to %v, want %v", text, list, want)
		}
	}
	for _, text := range []string{"", "the of and", "的了吗", "xyzzy 12345", "……"} {
		if list := RelatedTo(text); len(list) != 0 {
			t.Errorf("%q is related to %v", text, list)
		}
	}
}

// A related word must exist in the index, and belong to a term of the question.
func TestRelatedWordsAreTerms(t *testing.T) {
	for word, list := range relatedWords() {
		if len(list) > maxRelated {
			t.Errorf("%q has %d related words", word, len(list))
		}
		for _, r := range list {
			if r.Of == r.Term || !isTerm(r.Term) {
				t.Errorf("%q: %v is no term of the index", word, r)
			}
			if first := []rune(word)[0]; isUnspaced(first) && !slices.Contains(Terms(word), r.Of) {
				t.Errorf("%v belongs to no term of %q", r, word)
			}
		}
	}
	for line := range strings.Lines(relatedEnglish + relatedChinese + relatedBoth) {
		if words := strings.Fields(strings.ReplaceAll(line, "|", " ")); words[0] != "#" && len(words) < 2 {
			t.Errorf("a word without related words: %q", line)
		}
	}
}

// isTerm reports whether a text has the term. An English term is the stem of a word, which may itself have another
// stem.
func isTerm(term string) bool {
	list := Terms(term)
	return slices.Contains(list, term) || len(list) == 1 && !isUnspaced([]rune(term)[0])
}

func BenchmarkRelatedTo(b *testing.B) {
	text := "What did the doctor say about my brother's headache, and how much were the pills? 医生怎么说他的头疼？"
	for b.Loop() {
		RelatedTo(text)
	}
}
