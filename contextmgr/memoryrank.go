package contextmgr

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"magpie/db"
	"magpie/internal/tokenize"
)

// Weights of the ranking.
const (
	titleWeight = 2.0 // of a term in the title or among the keywords, against one in the text
	youthWeight = 0.1 // what was learnt last matters more, when nothing else tells
)

// compared is how many memories are compared with each other; what ranks behind them is not likely to be taken.
const compared = 60

// weighed is a memory with what it is ranked by.
type weighed struct {
	memory  db.Memory
	terms   map[string]float64 // with their weights
	overlap float64            // with the question: 0 none, 1 the most that a memory has
	rank    float64            // 0 to 1
}

// rankMemories sorts memories, oldest first, by how much they have to do with the question and how little they repeat
// each other. With matching set, those that share no term with the question are left out.
func rankMemories(list []db.Memory, question string, matching bool) []db.Memory {
	asked := tokenize.Terms(question)
	slices.Sort(asked)
	rest := weigh(list, slices.Compact(asked))
	if matching {
		rest = slices.DeleteFunc(rest, func(w weighed) bool { return w.overlap == 0 })
	}
	slices.SortStableFunc(rest, func(a, b weighed) int { return cmp.Compare(b.rank, a.rank) })
	first := rest[:min(compared, len(rest))]
	fit := make([]float64, len(first))
	for i, w := range first {
		fit[i] = w.rank
	}
	sorted := make([]db.Memory, 0, len(rest))
	diverse(fit, func(i, j int) float64 { return alike(first[i], first[j]) }, func(i int) bool {
		sorted = append(sorted, first[i].memory)
		return true
	})
	for _, w := range rest[len(first):] {
		sorted = append(sorted, w.memory)
	}
	return sorted
}

// weigh says what each memory has to do with the terms of a question. A term that few memories have counts more.
func weigh(list []db.Memory, asked []string) []weighed {
	all := make([]weighed, 0, len(list))
	having := map[string]int{}
	for _, m := range list {
		w := weighed{memory: m, terms: map[string]float64{}}
		for _, t := range tokenize.Terms(m.Text) {
			w.terms[t] = 1
		}
		for _, t := range tokenize.Terms(m.Title + "\n" + strings.Join(m.Keywords, "\n")) {
			w.terms[t] = titleWeight
		}
		for t := range w.terms {
			having[t]++
		}
		all = append(all, w)
	}
	most := 0.0
	for i := range all {
		for _, t := range asked {
			if weight, ok := all[i].terms[t]; ok {
				all[i].overlap += weight * math.Log(1+float64(len(list))/float64(having[t]))
			}
		}
		most = max(most, all[i].overlap)
	}
	for i := range all {
		if most > 0 {
			all[i].overlap /= most
		}
		all[i].rank = (1-youthWeight)*all[i].overlap + youthWeight*float64(i+1)/float64(len(all))
	}
	return all
}

// alike says how much two memories have in common: 0 nothing, 1 all terms.
func alike(a, b weighed) float64 {
	common := 0
	for t := range a.terms {
		if _, ok := b.terms[t]; ok {
			common++
		}
	}
	if common == 0 {
		return 0
	}
	return float64(common) / float64(len(a.terms)+len(b.terms)-common)
}
