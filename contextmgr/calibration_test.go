package contextmgr

import (
	"math"
	"testing"
)

// Estimates follow what each model reports, within bounds. Short texts are ignored.
func TestEstimatesFollowTheModel(t *testing.T) {
	t.Parallel()
	c := newCalibration()
	near := func(model string, want float64) {
		t.Helper()
		if got := c.factor(model); math.Abs(got-want) > 0.02 {
			t.Errorf("%q: %.2f, want %.2f", model, got, want)
		}
	}
	learn := func(model string, estimated, real int64) {
		for range 40 {
			c.learn(model, estimated, real)
		}
	}
	near("opus", firstFactor)
	learn("opus", 1000, 1500)
	near("opus", 1.5)
	near("", firstFactor) // another model
	learn("", 1000, 900)
	near("", 0.9)
	learn("opus", 1000, 100_000)
	near("opus", highestFactor)
	learn("haiku", 1000, 1)
	near("haiku", lowestFactor)
	learn("sonnet", leastLearned-1, 2*leastLearned)
	learn("sonnet", 1000, -5) // the session became shorter
	near("sonnet", firstFactor)
	if got := c.tokens("opus", 1000); got < 1990 || got > 2000 {
		t.Errorf("%d tokens", got)
	}
}
