package tokenize

import (
	"testing"

	"magpie/internal/growthtest"
	"magpie/internal/racetest"
)

func TestTimeGrowsWithTheText(t *testing.T) {
	racetest.Skip(t)
	growthtest.Linear(t, map[string]func(string){
		"Terms":     func(s string) { Terms(s) },
		"RelatedTo": func(s string) { RelatedTo(s) },
	})
}
