package access

import (
	"testing"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/growthtest"
	"magpie/internal/i18n"
	"magpie/internal/racetest"
)

func TestTimeGrowsWithTheText(t *testing.T) {
	racetest.Skip(t)
	growthtest.Linear(t, map[string]func(string){
		"RequestCard": func(s string) {
			RequestCard(chat.Incoming{Text: s, Actor: chat.Actor{ID: "ou_1", Name: s}}, i18n.English)
		},
		"DecisionCard": func(s string) { DecisionCard(db.Grant{Name: s, Subject: "ou_1"}, i18n.Chinese) },
	})
}
