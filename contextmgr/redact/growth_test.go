package redact

import (
	"testing"

	"magpie/internal/growthtest"
	"magpie/internal/racetest"
)

func TestTimeGrowsWithTheText(t *testing.T) {
	racetest.Skip(t)
	known := NewKnown([]string{"aaaaaaaaaaaaaaaaaaaaaaab", "yyyyyyyyyyyyyyyyyyyyyyyyyy", "https://a.b/c"})
	growthtest.Linear(t, map[string]func(string){
		"Text":              func(s string) { Text(s, All()) },
		"Known.Text":        func(s string) { known.Text(s) },
		"Known.FoundIn":     func(s string) { known.FoundIn([]byte(s)) },
		"Known.PartialText": func(s string) { known.PartialText(s) },
	})
}
