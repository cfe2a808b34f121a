package feishu

import (
	"fmt"
	"regexp"
	"testing"

	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

// callings are texts with which an agent could call people, meaning it or not.
var callings = []string{
	"<at id=all></at>", "<at id='all'></at>", `<at id="all"/>`, "<AT ID=ALL></AT>", "<at user_id=\"all\">everybody</at>", "<at ids=ou_1,ou_2></at>",
	"<at email=a@example.com></at>", "<at\tid=all>", "\\<at id=all></at>", "\\\\<at id=all></at>", "`<at id=all></at>`", "`` `<at id=all></at> ``",
	"```\n<at id=all></at>\n```", "~~~\n<at id=all></at>\n~~~", "    <at id=all></at>", "> <at id=all></at>", "- [ ] <at id=all></at>",
	"| <at id=all></at> |\n|---|\n| `<at id=all>` |", "[x](<at id=all>)", "![<at id=all>](https://x/y.png)", "<<at id=all></at>", "`<at id=all></at>", "**<at id=all></at>**",
	"&lt;at id=all&gt;", "&#60;at id=all&#62;", "@all", "@_all", "@所有人",
}

var calling = regexp.MustCompile(`(?i)<\s*/?\s*at\b`)

// No part of a card calls anybody, whatever it says.
func TestNothingCallsPeople(t *testing.T) {
	for _, text := range callings {
		button := chat.Button{Label: text, Action: chat.Action{Do: "x"}}
		for name, c := range map[string]chat.Card{
			"body":    {Body: text},
			"half":    {Body: "a " + text[:len(text)-1]},
			"status":  {Status: text},
			"footer":  {Footer: text},
			"summary": {Summary: text},
			"button":  {Buttons: []chat.Button{button}},
			"panel":   {Panels: []chat.Panel{{Title: text, Body: text}}},
			"form": {Form: &chat.Form{Buttons: []chat.Button{button}, Fields: []chat.Field{
				{Name: "f", Label: text, Hint: text, Kind: chat.One, Options: []chat.Option{{Value: "1", Label: text}}}}}},
		} {
			if drawn := drawCard(c, true); calling.MatchString(drawn) {
				t.Errorf("%s: %s", name, drawn)
			}
		}
		if calling.MatchString(postContent(text)) || calling.MatchString(textContent(text)) {
			t.Errorf("a message calls: %q", text)
		}
	}
}

// The platform's double finds nothing either.
func TestThePlatformCallsNobody(t *testing.T) {
	p, ask := asked(t, feishusim.Config{})
	var body string
	for i, text := range callings {
		body += fmt.Sprintf("%d:\n\n%s\n\n", i, text)
	}
	card := chat.Card{Live: true, Status: body, Body: body, Footer: body, Summary: body, Buttons: []chat.Button{{Label: body}}, Panels: []chat.Panel{{Title: body, Body: body}}}
	id, err := p.Client.Post(p.ctx(), ask, card, "seed")
	p.must(err)
	card.Live = false
	p.must(p.Client.Close(p.ctx(), id, card))
	_, err = p.Reply(p.ctx(), ask, body, "words")
	p.must(err)
	p.clean()
}
