package redact

import (
	"strings"
	"testing"

	"magpie/internal/growthtest"
	"magpie/internal/racetest"
)

func TestTimeGrowsWithTheText(t *testing.T) {
	racetest.Skip(t)
	known := NewKnown([]string{"aaaaaaaaaaaaaaaaaaaaaaab", "yyyyyyyyyyyyyyyyyyyyyyyyyy", "https://a.b/c"})
	growthtest.Linear(t, map[string]func(string){
		"Text": func(s string) { Text(s, All()) },
		"Growing.Next": func(s string) {
			var g Growing
			for i := 1; i <= 4; i++ {
				_, g = g.Next(strings.ToValidUTF8(s[:len(s)*i/4], ""), Keys)
			}
		},
		"Known.Text":        func(s string) { known.Text(s) },
		"Known.FoundIn":     func(s string) { known.FoundIn([]byte(s)) },
		"Known.PartialText": func(s string) { known.PartialText(s) },
	})
}
