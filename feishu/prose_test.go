package feishu

import (
	"strings"
	"testing"

	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

// A card whose looks the platform refuses is shown without markup, with its buttons, before it becomes a text: when it is
// made, and when its last value is drawn.
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
			p, ask := asked(t, feishusim.Config{})
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
