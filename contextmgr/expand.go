package contextmgr

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"unicode/utf8"

	"magpie/db"
	"magpie/internal/tokenize"
)

// An answer is often two steps away: a message that matches the question names a person or a thing, and messages of
// other days tell about that without any word of the question. So the words of the best hits are searched for, too, and
// the days to which they lead, see [chainedDay]. The best hits themselves stay in front, ranked by the question's
// words.
const (
	expandedFrom  = 10   // hits whose words are searched for
	keptInFront   = 7    // of them, regardless of the new ranking
	triedExpanded = 40   // words that are looked up
	maxExpanded   = 12   // of them, those that are used
	expandedWord  = 0.35 // of the weight, for a word of the hits
	expandedTwice = 3    // factor for a word that several hits contain
)

// expandedTerm is a term of the best hits of a query.
type expandedTerm struct {
	term     string
	strength float64 // 1 = of the most important one
}

// expandQuery adds to a query the words of its best hits that are rare in the chat.
func (m *Manager) expandQuery(
	ctx context.Context, r Request, f queryIndex, found db.Found, hits []hit,
) (queryIndex, error) {
	matches := slices.DeleteFunc(slices.Clone(hits), func(h hit) bool { return f.entryOf(h.Seq).words == kindSet{} })
	if len(matches) == 0 {
		return f, nil
	}
	weights := f.hitWords(matches[:min(len(matches), expandedFrom)])
	words := slices.Sorted(maps.Keys(weights))
	slices.SortStableFunc(words, func(a, b string) int { return cmp.Compare(weights[b], weights[a]) })
	words = words[:min(len(words), triedExpanded)]
	q := f.query
	q.chained = f.chain(matches[:min(len(matches), expandedFrom)])
	more, err := m.db.Search().Find(ctx, r.Key, r.Epoch, slices.Concat(words, q.chainedTerms()), maxPostings)
	if err != nil || len(more.Terms) == 0 {
		return f, err
	}
	days := more.Terms[len(words):]
	more.Terms = more.Terms[:len(words):len(words)]
	for _, p := range more.Terms {
		weights[p.Term] *= idf(p, float64(found.Messages))
	}
	slices.SortStableFunc(more.Terms, func(a, b db.Postings) int {
		return cmp.Compare(weights[b.Term], weights[a.Term])
	})
	more.Terms = more.Terms[:min(len(more.Terms), maxExpanded)]
	for _, p := range more.Terms {
		q.expanded = append(q.expanded, expandedTerm{p.Term, weights[p.Term] / weights[more.Terms[0].Term]})
	}
	at := len(q.terms) + len(q.related)
	found.Terms = slices.Concat(found.Terms[:at], more.Terms, days, found.Terms[at:])
	return newQueryIndex(q, found), nil
}

// hitWords are the words of hits that were not looked up yet, with their importance. A single Chinese character says
// too little.
func (f *queryIndex) hitWords(hits []hit) map[string]float64 {
	known := f.kindsOf()
	weights, count := map[string]float64{}, map[string]int{}
	for _, h := range hits {
		terms := tokenize.Terms(headAndTail(h.Text, 500))
		slices.Sort(terms)
		for _, t := range slices.Compact(terms) {
			if len(known[t]) == 0 && !frameWords[t] && utf8.RuneCountInString(t) > 1 {
				weights[t] += h.score / hits[0].score
				count[t]++
			}
		}
	}
	for t, n := range count {
		if n > 1 {
			weights[t] *= expandedTwice
		}
	}
	return weights
}

// fuse puts the best hits of the first search before the other hits of the second one.
func fuse(first, second []hit) []hit {
	first = first[:min(len(first), keptInFront)]
	rest := slices.DeleteFunc(second, func(h hit) bool {
		return slices.ContainsFunc(first, func(f hit) bool { return f.Seq == h.Seq })
	})
	if len(rest) == 0 {
		return first
	}
	scale := min(1, first[len(first)-1].score/rest[0].score)
	for i := range rest {
		rest[i].score *= scale
	}
	return slices.Concat(first, rest)
}
