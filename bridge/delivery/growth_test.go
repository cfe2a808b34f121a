package delivery

import (
	"testing"

	"magpie/contextmgr/redact"
	"magpie/internal/chat"
	"magpie/internal/growthtest"
	"magpie/internal/racetest"
)

func TestTimeGrowsWithTheText(t *testing.T) {
	racetest.Skip(t)
	secrets := redact.NewKnown([]string{"aaaaaaaaaaaaaaaaaaaab", "canary-0123456789"})
	growthtest.Linear(t, map[string]func(string){
		"RedactCard": func(s string) {
			RedactCard(chat.Card{
				Title: s, Body: s, Live: true, Earlier: []chat.Part{{Body: s}}, Panels: []chat.Panel{{Title: s, Body: s}},
				Form: &chat.Form{Fields: []chat.Field{{Label: s, Hint: s, Options: []chat.Option{{Label: s}}}}},
			}, secrets)
		},
		"fileName":          func(s string) { fileName("/" + s) },
		"relativeToProject": func(s string) { _, _ = relativeToProject("/p", s) },
	})
}
