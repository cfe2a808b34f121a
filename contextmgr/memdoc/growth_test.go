package memdoc

import (
	"testing"

	"magpie/db"
	"magpie/internal/growthtest"
	"magpie/internal/racetest"
)

func TestTimeGrowsWithTheText(t *testing.T) {
	racetest.Skip(t)
	growthtest.Linear(t, map[string]func(string){
		"Format": func(s string) { Format(db.Memory{Title: s, Text: s, Keywords: []string{s}}) },
		"Parse": func(s string) {
			_, _ = Parse([]byte(fence + "\nchat: feishu:chat:oc_1\n" + s + "\n" + fence + "\n" + s))
			_, _ = Parse([]byte(s))
		},
	})
}
