package feishu

import (
	"fmt"
	"strings"
	"testing"

	"magpie/feishu/feishutest"
	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

// Text of an agent notifies nobody, according to feishusim.
func TestTextMentionsNobody(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
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

// Agents link to files in many ways. feishusim refuses a post that contains such a link.
func TestLinksToFilesBecomeText(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	body := "[a](src/a.go:12) [b](<my file.go>) [c](c(d).go 'e') [f [g]](h.go)\n![](i.png) [j][1] [k]\n\n[1]: <l m.go>\n\n" +
		"> [k]:\n> n.go\n\n[o\np](q.go) `r\n` [s](t.go) `\n\n[u](" + strings.Repeat("v/", 900) + ") [w](https://x)"
	_, err := p.Reply(p.ctx(), ask, body, "words")
	p.must(err)
	id, err := p.Client.Post(p.ctx(), ask, chat.Card{Live: true, Body: "a", Footer: "[a](b.go)"}, "seed")
	p.must(err)
	p.must(p.Edit(p.ctx(), id, chat.Card{Live: true, Body: body, Panels: []chat.Panel{{Title: body, Body: body}}}))
	p.must(p.Client.Close(p.ctx(), id, chat.Card{Body: body}))
	shown := p.answers(ask.Key.ID)
	if len(shown) != 2 || shown[0].Type != "post" || !strings.Contains(shown[0].Text(), "a (src/a.go:12) b (my file.go)") {
		t.Errorf("%+v", shown)
	}
	p.clean()
}
