package contextmgr

import (
	"math"
	"slices"
)

// lambda is how much it counts that something fits, against that it says something new.
const lambda = 0.7

// diverse offers things in the order of their maximal marginal relevance (Carbonell and Goldstein, 1998): each time the
// one that fits best and is least like those that were taken before. fit is from 0 to 1, and so is what alike says of
// two; take says whether it took what it was offered.
func diverse(fit []float64, alike func(i, j int) float64, take func(i int) bool) {
	left := make([]int, len(fit))
	for i := range left {
		left[i] = i
	}
	repeats := make([]float64, len(fit)) // how much of it has been taken already
	for len(left) > 0 {
		next, value := 0, math.Inf(-1)
		for k, i := range left {
			if v := lambda*fit[i] - (1-lambda)*repeats[i]; v > value {
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
