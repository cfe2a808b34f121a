package contextmgr

import (
	"math"
	"slices"
)

// selectDiverse offers items by maximal marginal relevance (Carbonell and Goldstein, 1998): each time the most relevant
// one that is least similar to those already taken. relevance and alike are between 0 and 1; take reports whether it
// accepts the item. lambda weighs relevance against novelty.
func selectDiverse(lambda float64, relevance []float64, alike func(i, j int) float64, take func(i int) bool) {
	left := make([]int, len(relevance))
	for i := range left {
		left[i] = i
	}
	repeats := make([]float64, len(relevance)) // similarity to the items taken so far
	for len(left) > 0 {
		next, value := 0, math.Inf(-1)
		for k, i := range left {
			if v := lambda*relevance[i] - (1-lambda)*repeats[i]; v > value {
				next, value = k, v
			}
		}
		taken := left[next]
		left = slices.Delete(left, next, next+1)
		if !take(taken) {
			continue
		}
		for _, i := range left {
			repeats[i] = max(repeats[i], alike(taken, i))
		}
	}
}
