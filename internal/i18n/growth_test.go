package i18n_test

import (
	"testing"

	"magpie/internal/growthtest"
	"magpie/internal/i18n"
	"magpie/internal/racetest"
)

func TestTimeGrowsWithTheText(t *testing.T) {
	racetest.Skip(t)
	growthtest.Linear(t, map[string]func(string){
		"Detect":       func(s string) { i18n.Detect(s) },
		"DetectSwitch": func(s string) { i18n.DetectSwitch(s, i18n.Chinese) },
		"FirstLine":    func(s string) { i18n.FirstLine(s) },
		"Truncate":     func(s string) { i18n.Truncate(s, 100) },
		"Excerpt":      func(s string) { i18n.Excerpt(s, 100) },
		"PersonName":   func(s string) { i18n.PersonName(s, "ou_1") },
		"SafeName":     func(s string) { i18n.SafeName(s) },
		"Visible":      func(s string) { i18n.Visible(s) },
		"CodeBlock":    func(s string) { i18n.CodeBlock("sh", s) },
		"PlainText":    func(s string) { i18n.PlainText(s) },
		"InlineCode":   func(s string) { i18n.InlineCode(s) },
	})
}
