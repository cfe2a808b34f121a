package cardjson

import (
	"regexp"
	"testing"

	"magpie/feishu/feishutest"
	"magpie/internal/chat"
)

var calling = regexp.MustCompile(`(?i)<\s*/?\s*at\b`)

// No part of a card mentions anybody, whatever its text is.
func TestNoCardMentionsPeople(t *testing.T) {
	for _, text := range feishutest.Mentions {
		button := chat.Button{Label: text, Action: chat.Action{Do: "x"}}
		for name, c := range map[string]chat.Card{
			"body":    {Body: text},
			"half":    {Body: "a " + text[:len(text)-1]},
			"status":  {Status: text},
			"title":   {Title: text},
			"footer":  {Footer: text},
			"summary": {Summary: text},
			"button":  {Buttons: []chat.Button{button}},
			"panel":   {Panels: []chat.Panel{{Title: text, Body: text}}},
			"form": {Form: &chat.Form{Buttons: []chat.Button{button}, Fields: []chat.Field{
				{Name: "f", Label: text, Hint: text, Kind: chat.One, Options: []chat.Option{
					{Value: "1", Label: text},
				}}}}},
		} {
			if drawn := Card(c, true); calling.MatchString(drawn) {
				t.Errorf("%s: %s", name, drawn)
			}
		}
		if calling.MatchString(Post(text)) || calling.MatchString(Text(text)) {
			t.Errorf("a message calls: %q", text)
		}
	}
}
