package contextmgr

import lru "github.com/hashicorp/golang-lru/v2"

// Models need more or fewer tokens for the same text than [EstimateTokens] says, each by a factor of its own. The
// factor is learned from what the models report. It begins with what recent models need for Chinese; for English and
// code they need up to 1.4 times as many.
const (
	firstFactor   = 1.0
	lowestFactor  = 0.7
	highestFactor = 2.0
	learningRate  = 0.2 // weight of the latest observation
	leastLearned  = 200 // estimated tokens; of shorter texts, what the CLI adds would count too much
	knownModels   = 64  // factors that are kept
)

// calibration holds the factors of models, by their names in the settings of chats; empty = the default model. It is
// safe for concurrent use; of two observations at the same time one may be lost.
type calibration struct {
	factors *lru.Cache[string, float64]
}

func newCalibration() *calibration {
	factors, _ := lru.New[string, float64](knownModels) // fails only for a size of zero
	return &calibration{factors: factors}
}

// learn notes how many tokens a model needed for texts that were estimated.
func (c *calibration) learn(model string, estimated, real int64) {
	if estimated < leastLearned || real <= 0 {
		return
	}
	seen := min(max(float64(real)/float64(estimated), lowestFactor), highestFactor)
	factor, ok := c.factors.Get(model)
	if !ok {
		factor = firstFactor
	}
	c.factors.Add(model, factor+learningRate*(seen-factor))
}

func (c *calibration) factor(model string) float64 {
	if factor, ok := c.factors.Get(model); ok {
		return factor
	}
	return firstFactor
}

// tokens corrects an estimate for a model.
func (c *calibration) tokens(model string, estimated int) int {
	return int(float64(estimated) * c.factor(model))
}

// budget is how many estimated tokens a model can be sent if it may need that many.
func (c *calibration) budget(model string, tokens int) int {
	return max(minTokens, int(float64(tokens)/c.factor(model)))
}
