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
	titleWeight     = 2.0 // of a term in the title or the keywords, relative to one in the text
	memoryRelevance = 0.7 // of the overlap with the question, against novelty compared to those selected
	youthWeight     = 0.1 // newer memories win when nothing else decides
)

// maxCompared limits how many memories are compared with each other, which is quadratic; those that rank lower are
// unlikely to be selected.
const maxCompared = 60

// rankedMemory is a memory with the values by which it is ranked.
type rankedMemory struct {
	memory  db.Memory
	terms   map[string]float64 // with their weights
	overlap float64            // with the question: 0 = none, 1 = the highest of all memories
	rank    float64            // 0 to 1
}

// rankMemories sorts memories, given oldest first, by how well they match the question and how little they repeat each
// other. With matching set, those that share no term with the question are left out.
func rankMemories(list []db.Memory, question string, matching bool) []db.Memory {
	asked := tokenize.Terms(question)
	slices.Sort(asked)
	rest := weigh(list, slices.Compact(asked))
	if matching {
		rest = slices.DeleteFunc(rest, func(w rankedMemory) bool { return w.overlap == 0 })
	}
	slices.SortStableFunc(rest, func(a, b rankedMemory) int { return cmp.Compare(b.rank, a.rank) })
	// Comparing all with all would be quadratic, so only the best are checked for repetition.
	first := rest[:min(maxCompared, len(rest))]
	relevance := make([]float64, len(first))
	for i, w := range first {
		relevance[i] = w.rank
	}
	sorted := make([]db.Memory, 0, len(rest))
	selectDiverse(memoryRelevance, relevance, func(i, j int) float64 {
		return memorySimilarity(first[i], first[j])
	}, func(i int) bool {
		sorted = append(sorted, first[i].memory)
		return true
	})
	for _, w := range rest[len(first):] {
		sorted = append(sorted, w.memory)
	}
	return sorted
}

// weigh computes how much each memory matches the terms of a question. Rare terms count more.
func weigh(list []db.Memory, asked []string) []rankedMemory {
	all := make([]rankedMemory, 0, len(list))
	having := map[string]int{}
	for _, m := range list {
		w := rankedMemory{memory: m, terms: map[string]float64{}}
		for _, t := range tokenize.Terms(m.Text) {
			w.terms[t] = 1
		}
		// After the text: a term that is in both gets the weight of the title.
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

// memorySimilarity is the Jaccard index of two memories' terms: 0 = nothing in common, 1 = all.
func memorySimilarity(a, b rankedMemory) float64 {
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
