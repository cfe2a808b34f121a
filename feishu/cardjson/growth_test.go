package cardjson

import (
	"testing"

	"magpie/internal/chat"
	"magpie/internal/growthtest"
	"magpie/internal/racetest"
)

func TestTimeGrowsWithTheText(t *testing.T) {
	racetest.Skip(t)
	card := func(s string) chat.Card {
		return chat.Card{
			Title: s, Body: s, Summary: s, Buttons: []chat.Button{{Label: s}},
			Form: &chat.Form{Fields: []chat.Field{{Name: "a", Label: s, Hint: s}}},
		}
	}
	growthtest.Linear(t, map[string]func(string){
		"Card":          func(s string) { Card(card(s), true) },
		"TablesAsCode":  func(s string) { TablesAsCode(card(s)) },
		"Prose":         func(s string) { Prose(card(s)) },
		"Steps":         func(s string) { Steps(card(s), card(s+"a")) },
		"Pages":         func(s string) { new(Layout).Pages(s) },
		"Split":         func(s string) { Split(s) },
		"Post":          func(s string) { Post(s) },
		"PostWithImage": func(s string) { PostWithImage(s, "img_1") },
		"Mention":       func(s string) { Mention([]string{"ou_1"}, s) },
		"Text":          func(s string) { Text(s) },
	})
}
