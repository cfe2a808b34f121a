package text_test

import (
	"testing"

	"magpie/internal/growthtest"
	"magpie/internal/racetest"
	"magpie/internal/text"
)

func TestTimeGrowsWithTheText(t *testing.T) {
	racetest.Skip(t)
	growthtest.Linear(t, map[string]func(string){
		"Nearest":     func(s string) { text.Nearest(s, []string{"feishu.app_id", "setup"}) },
		"IsBoundary":  func(s string) { text.IsBoundary(s, len(s)-1) },
		"Shorten":     func(s string) { text.Shorten(s, len(s)/2); text.Shorten(s, 100) },
		"OneLine":     func(s string) { text.OneLine(s) },
		"Clip":        func(s string) { text.Clip(s, 100) },
		"Prefix":      func(s string) { text.Prefix(s, len(s)/2) },
		"Visible":     func(s string) { text.Visible(s) },
		"Plain":       func(s string) { text.Plain(s) },
		"ForTerminal": func(s string) { text.ForTerminal(s) },
		"SafeLine":    func(s string) { text.SafeLine(s) },
	})
}
