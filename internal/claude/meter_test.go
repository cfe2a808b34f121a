package claude

import (
	"testing"

	"magpie/internal/claude/stream"
)

// The report of a turn counts once, whatever the CLI says a second time.
func TestAReportCountsOnce(t *testing.T) {
	for name, r := range map[string]stream.Result{
		"of the turn": {CostUSD: 3, OfTurn: new(0.25)}, "in all": {CostUSD: 0.25},
	} {
		m := &meter{}
		if first, second := m.endTurn(r), m.endTurn(r); first != 0.25 || second != 0 {
			t.Errorf("%s: two turns cost %v and %v", name, first, second)
		}
	}
}
