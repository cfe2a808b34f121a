package attachment

import (
	"testing"

	"magpie/internal/chat"
	"magpie/internal/growthtest"
	"magpie/internal/racetest"
	"magpie/internal/safepath"
)

func TestTimeGrowsWithTheText(t *testing.T) {
	racetest.Skip(t)
	growthtest.Linear(t, map[string]func(string){
		"the name of a file": func(s string) { safepath.FileName(s) },
		"the kind of a file": func(s string) { extensionOf(chat.Document, []byte(s)) },
		"what is not fetched": func(s string) {
			new(Store).WantMissing([]chat.Message{{Text: s, Files: []chat.File{{Name: s, Said: s}}}})
		},
	})
}
