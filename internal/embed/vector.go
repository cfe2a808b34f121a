package embed

import (
	"errors"
	"fmt"
	"math"
)

// Vector is the direction of a text's meaning: a signed byte for each dimension. Its length tells nothing, so that the
// largest component can be 127 in each. It is a quarter as large as the endpoint's numbers, and tells the same to
// one part in a hundred.
type Vector []byte

func vectorOf(list []float32) (Vector, error) {
	if len(list) > mostDims {
		return nil, fmt.Errorf("a vector of length %d", len(list))
	}
	var largest float64
	for _, x := range list {
		largest = max(largest, math.Abs(float64(x)))
	}
	if largest == 0 || math.IsInf(largest, 0) {
		return nil, errors.New("a vector without a direction")
	}
	v := make(Vector, len(list))
	for i, x := range list {
		v[i] = byte(int8(math.Round(float64(x) / largest * math.MaxInt8)))
	}
	return v, nil
}

// Cosine says how alike two vectors of one length are: 1 the same direction, 0 nothing in common, -1 the opposite.
func Cosine(a, b Vector) float64 {
	var ab, aa, bb int32 // of 4096 dimensions no more than 2^26
	b = b[:len(a)]
	for i := range a {
		x, y := int32(int8(a[i])), int32(int8(b[i]))
		ab += x * y
		aa += x * x
		bb += y * y
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return float64(ab) / math.Sqrt(float64(aa)*float64(bb))
}
