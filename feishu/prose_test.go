package feishu

import (
	"fmt"
	"strings"
	"testing"

	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

// A card with too many tables shows them as code and keeps its other markup, both when it is created and when it is
// closed.
func TestTooManyTablesBecomeCode(t *testing.T) {
	last := chat.Card{Body: "**so**\n\n| a | b |\n|---|---|\n| 1 | 2 |"}
	for name, made := range map[string]bool{"when it is made": true, "when it ends": false} {
		t.Run(name, func(t *testing.T) {
			p, ask := newQuestion(t, feishusim.Config{})
			first, tables := chat.Card{Live: true, Status: "on it"}, feishusim.Fault{
				Code: 230099, Msg: "Failed to create card content, ext=ErrCode: 11310; ErrMsg: card table number over limit;",
				Times: 1,
			}
			if made {
				first = last
				p.Inject(feishusim.Fault{Method: "POST", Path: cardAPI, Code: 200860})
				tables.Method, tables.Path = "POST", replyAPI
				p.Inject(tables)
			}
			id, err := p.Client.Post(p.ctx(), ask, first, "seed")
			p.must(err)
			if !made {
				p.Inject(feishusim.Fault{Method: "PUT", Path: cardAPI + "/*", Code: 300305})
				tables.Method, tables.Path = "PATCH", "/open-apis/im/v1/messages/*"
				p.Inject(tables)
			}
			p.must(p.Client.Close(p.ctx(), id, last))
			all := p.answers(ask.Key.ID)
			if len(all) != 1 || all[0].Type != "interactive" {
				t.Fatalf("%d messages: %+v\n%s", len(all), all, p.log)
			}
			if card := string(all[0].Last().Card); !strings.Contains(card, "**so**") ||
				!strings.Contains(card, "```\\n| a | b |") {
				t.Errorf("card %s", card)
			}
		})
	}
}

// A message that the app has no permission to send is not retried in another form. A card that it may not create falls
// back to text.
func TestAMissingPermissionIsNotTriedAgain(t *testing.T) {
	for _, code := range []int{99991672, 230027} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			p, ask := newQuestion(t, feishusim.Config{})
			p.Inject(feishusim.Fault{Path: replyAPI, Code: code, Msg: "permission"})
			if _, err := p.Client.Post(p.ctx(), ask, chat.Card{Body: "a"}, "seed"); err == nil {
				t.Error("a card is shown")
			}
			if _, err := p.Reply(p.ctx(), ask, "a", "text"); err == nil {
				t.Error("a text is shown")
			}
			sends := 0
			for _, c := range p.Calls() {
				if c.Code == code {
					sends++
				}
			}
			if sends != 2 {
				t.Errorf("%d: %d sends, want one of each", code, sends)
			}
		})
	}
}

// A card whose layout the platform refuses is shown without markup but with its buttons, and only then as text, both
// when it is created and when it is closed.
func TestACardWithoutMarkupComesBeforeText(t *testing.T) {
	stop := []chat.Button{{Label: "Go on", Action: chat.Action{Do: "continue", Turn: 1}}}
	last := chat.Card{Body: "| a | b |\n|---|---|\n| **1** | 2 |", Buttons: stop}
	for name, refuse := range map[string]func(p *platform){
		"when it is made": func(p *platform) {
			p.Inject(feishusim.Fault{Method: "POST", Path: cardAPI, Code: 200860})
			p.Inject(feishusim.Fault{Method: "POST", Path: replyAPI, Code: 230099, Times: 1})
		},
		"when it ends": nil,
	} {
		t.Run(name, func(t *testing.T) {
			p, ask := newQuestion(t, feishusim.Config{})
			if refuse != nil {
				refuse(p)
			}
			id, err := p.Client.Post(p.ctx(), ask, chat.Card{Live: true, Status: "on it"}, "seed")
			p.must(err)
			if refuse == nil {
				p.Inject(feishusim.Fault{Method: "PUT", Path: cardAPI + "/*", Code: 300305})
				p.Inject(feishusim.Fault{Method: "PATCH", Path: "/open-apis/im/v1/messages/*", Code: 230099, Times: 1})
			}
			p.must(p.Client.Close(p.ctx(), id, last))
			all := p.answers(ask.Key.ID)
			if len(all) != 1 || all[0].Type != "interactive" {
				t.Fatalf("%d messages: %+v\n%s", len(all), all, p.log)
			}
			card := string(all[0].Last().Card)
			if !strings.Contains(card, `"plain_text"`) || strings.Contains(card, `"markdown"`) ||
				!strings.Contains(card, `| **1** | 2 |`) || !strings.Contains(card, `"do":"continue"`) {
				t.Errorf("card %s", card)
			}
		})
	}
}
