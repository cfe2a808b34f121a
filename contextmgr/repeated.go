package contextmgr

import (
	"cmp"
	"regexp"
	"slices"
	"unicode/utf8"

	"magpie/internal/tokenize"
)

// Of messages that say the same, one is enough: the newest, since it may correct a detail of the older ones. People
// seldom say a thing twice in the same words, so words with the same meaning count, too, and their order does not.

// What two texts must share to say the same, in words, of which a Chinese character is half a one, and as a part of each
// text.
const (
	fewShared  = 1.5
	manyShared = 2.5
	halfOf     = 0.5
	overHalf   = 0.6
	nearlyAll  = 0.75
)

// maxSaid is how many words or characters a text may have; a longer one says more than one thing.
const maxSaid = 32

// gist is what a short text says.
type gist struct {
	words   []string // in their order, each once
	has     map[string]bool
	weight  float64 // of the words
	text    string
	alike   map[string][]synonym // of a word; nil = not looked up yet
	asks    bool                 // it is a question
	speaker bool                 // it speaks of its author
}

// synonym is a word with a similar meaning: of a Chinese one, its characters.
type synonym struct {
	words    []string
	strength float64
}

// ofSpeaker matches what means something else if somebody else says it.
var ofSpeaker = regexp.MustCompile(`(?i)\b(i|my|me|mine|we|our|ours|us)\b|我|咱|俺`)

// gistOf is the gist of a text with these terms; nil if it is too long.
func gistOf(text string, terms []string) *gist {
	if len(terms) > 3*maxSaid {
		return nil
	}
	g := gist{text: text, has: map[string]bool{}, asks: isQuestion(text), speaker: ofSpeaker.MatchString(text)}
	for _, t := range terms {
		if !frameWords[t] && !isPair(t) && !g.has[t] {
			g.has[t] = true
			g.words = append(g.words, t)
			g.weight += wordCount(t)
		}
	}
	if len(g.words) > maxSaid {
		return nil
	}
	return &g
}

// synonyms are the words with a similar meaning as w.
func (g *gist) synonyms(w string) []synonym {
	if g.alike == nil { // few texts are compared in earnest
		g.alike = map[string][]synonym{}
		for _, r := range tokenize.RelatedTo(g.text) {
			for _, of := range wordsOf(r.Of) {
				g.alike[of] = append(g.alike[of], synonym{wordsOf(r.Term), r.Strength})
			}
		}
	}
	return g.alike[w]
}

// isPair reports whether a term is a pair of Chinese characters.
func isPair(term string) bool {
	r, size := utf8.DecodeRuneInString(term)
	return r >= firstChinese && size < len(term)
}

const firstChinese = 0x2E80

// wordsOf splits a pair of Chinese characters.
func wordsOf(term string) []string {
	if !isPair(term) {
		return []string{term}
	}
	_, size := utf8.DecodeRuneInString(term)
	return []string{term[:size], term[size:]}
}

// wordCount is how many words a term of a gist counts as.
func wordCount(term string) float64 {
	if r, _ := utf8.DecodeRuneInString(term); r >= firstChinese {
		return 0.5
	}
	return 1
}

// shared is how much of g, in words, another text says, too, and whether g has a number that is not there. Related words
// count only if enough of the words are the same.
func (g *gist) shared(other *gist) (words float64, number bool) {
	same := 0
	for _, w := range g.words {
		if other.has[w] {
			same++
		}
	}
	if 4*same < len(g.words) {
		return 0, false
	}
	for _, w := range g.words {
		like := g.likeness(w, other)
		words += like * wordCount(w)
		number = number || like == 0 && w[0] >= '0' && w[0] <= '9'
	}
	return words, number
}

// likeness is how well another text has a word of g, or a related one; 0 = not at all.
func (g *gist) likeness(w string, other *gist) (like float64) {
	if other.has[w] {
		return 1
	}
	for _, s := range g.synonyms(w) {
		if !slices.ContainsFunc(s.words, func(w string) bool { return !other.has[w] }) {
			like = max(like, s.strength)
		}
	}
	return like
}

// same reports whether two texts say the same in other words: each says most of what the other says, or half of it, if
// that is nearly all of its own. Texts in which both have numbers of their own are about different things, and so are
// those of which one only replaces a part of the other: a name, a place.
func (g *gist) same(other *gist) bool {
	if g == nil || other == nil || g.asks != other.asks {
		return false
	}
	mine, number := g.shared(other)
	its, another := other.shared(g)
	if min(mine, its) < fewShared || number && another {
		return false
	}
	less, more := mine/g.weight, its/other.weight
	if less > more {
		less, more = more, less
	}
	enough := less >= overHalf && min(mine, its) >= manyShared || less >= halfOf && more >= nearlyAll
	return enough && !g.replaces(other)
}

// replaces reports whether two texts begin and end with the same words, and share none between these.
func (g *gist) replaces(other *gist) bool {
	a, b := g.words, other.words
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(a) > 0 && len(b) > 0 && !slices.ContainsFunc(a, func(w string) bool { return g.likeness(w, other) > 0 })
}

// repeats reports whether two messages say the same.
func (h hit) repeats(other hit) bool {
	switch {
	case h.Actor != other.Actor && (h.speaksOfAuthor() || other.speaksOfAuthor()):
		return false
	case h.about.nearlySame(other.about):
		return true
	}
	return h.Role == other.Role && h.gist.same(other.gist)
}

func (h hit) speaksOfAuthor() bool { return h.gist != nil && h.gist.speaker }

// newestOfSame leaves only the newest of messages that say the same, ranked as the best of them.
func newestOfSame(ranked []hit) []hit {
	var groups [][]hit
	for _, h := range ranked {
		h.gist = gistOf(h.Text, h.terms)
		own := -1
		for i, g := range groups {
			switch {
			case !slices.ContainsFunc(g, h.repeats):
			case own < 0:
				own = i
			default: // h links two groups
				groups[own], groups[i] = append(groups[own], g...), nil
			}
		}
		if own < 0 {
			groups = append(groups, []hit{h})
		} else {
			groups[own] = append(groups[own], h)
		}
	}
	var kept []hit
	for _, g := range groups {
		if len(g) == 0 {
			continue
		}
		newest := slices.MaxFunc(g, func(a, b hit) int { return cmp.Compare(a.Seq, b.Seq) })
		newest.score = g[0].score
		kept = append(kept, newest)
	}
	return kept
}
