package embed

import (
	"errors"
	"fmt"
	"math"
)

// Vector is the direction of a text's meaning, with a signed byte per dimension. Only the direction matters, so each
// vector is scaled to a largest component of 127. That is a quarter of the size of the endpoint's numbers, with an
// error of about one percent.
type Vector []byte

// vectorOf scales by the largest component to 8 bits. Only directions are compared, so the length may be lost; a vector
// takes a quarter of the space.
func vectorOf(list []float32) (Vector, error) {
	if len(list) > maxDims {
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

// Cosine is the cosine similarity of two vectors of one length: 1 = same direction, 0 = unrelated, -1 = opposite.
func Cosine(a, b Vector) float64 {
	var ab, aa, bb int32 // of 4096 dimensions at most 2^26
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
