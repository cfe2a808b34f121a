package stream

import (
	"bytes"
	"encoding/json"

	"github.com/tidwall/gjson"
)

// deepest is how deep a line may be nested. encoding/json has the same limit.
const deepest = 10_000

// ValidJSON reports whether a line is JSON that is not nested too deep. The fast validation calls itself for each
// level, and a line of brackets would overflow the stack, which ends the whole program. Such a line does not come from
// the CLI, but whatever runs as its user can write to its output and to its transcripts.
func ValidJSON(line []byte) bool {
	if bytes.Count(line, []byte("["))+bytes.Count(line, []byte("{")) > deepest {
		return json.Valid(line)
	}
	return gjson.ValidBytes(line)
}

// The most that one report may contain: far more than any turn uses, and little enough to be added up.
const (
	maxDollars = 1e6
	maxTokens  = 1e12
)

// dollars reads a cost. It is never negative or infinite: costs are added up for budgets, and the sum of an odd one
// would open or close them for everybody who shares it.
func dollars(v gjson.Result) float64 {
	if cost := v.Float(); cost > 0 { // unlike NaN
		return min(cost, maxDollars)
	}
	return 0
}

// tokens reads a number of tokens, for which the same holds.
func tokens(v gjson.Result) int64 { return min(max(v.Int(), 0), maxTokens) }
