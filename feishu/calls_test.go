package feishu

import (
	"fmt"
	"testing"

	"magpie/feishu/feishutest"
	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

// The platform's double finds nobody who is called.
func TestThePlatformCallsNobody(t *testing.T) {
	p, ask := asked(t, feishusim.Config{})
	var body string
	for i, text := range feishutest.Mentions {
		body += fmt.Sprintf("%d:\n\n%s\n\n", i, text)
	}
	card := chat.Card{
		Live: true, Status: body, Body: body, Footer: body, Summary: body, Buttons: []chat.Button{{Label: body}},
		Panels: []chat.Panel{{Title: body, Body: body}},
	}
	id, err := p.Client.Post(p.ctx(), ask, card, "seed")
	p.must(err)
	card.Live = false
	p.must(p.Client.Close(p.ctx(), id, card))
	_, err = p.Reply(p.ctx(), ask, body, "words")
	p.must(err)
	p.clean()
}
