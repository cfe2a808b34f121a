package feishu

import (
	"fmt"
	"strings"
	"testing"

	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

// The calls that update elements of a card, as feishusim records them.
const (
	batchUpdates = cardAPI + "/*/batch_update"
	elementTexts = cardAPI + "/*/elements/*/content"
)

// callsTo counts the calls to a path; * stands for an ID.
func (p *platform) callsTo(path string) (n int) {
	before, after, _ := strings.Cut(path, "/*/")
	for _, c := range p.Calls() {
		if strings.HasPrefix(c.Path, before+"/") && strings.HasSuffix(c.Path, strings.ReplaceAll(after, "*", "body")) {
			n++
		}
	}
	return n
}

// stream draws a card whose body and panel grow, and fails if something is not visible.
func (p *platform) stream(room, seed string) {
	p.t.Helper()
	ask := chat.Ref{Key: chat.FeishuChat(room), ID: p.Say(room, p.Users()[0], "hello")}
	before, card := len(p.answers(room)), chat.Card{Live: true, Body: "a",
		Panels: []chat.Panel{{Title: "0 steps", Body: "-"}}}
	id, err := p.Client.Post(p.ctx(), ask, card, seed)
	p.must(err)
	for i := range 3 {
		card.Body += fmt.Sprintf(" b%d", i)
		card.Panels = []chat.Panel{{Title: fmt.Sprintf("%d steps", i), Body: fmt.Sprintf("- step %d", i)}}
		p.must(p.Edit(p.ctx(), id, card))
		card.Body += fmt.Sprintf(" c%d", i) // only the body
		p.must(p.Edit(p.ctx(), id, card))
		shown := p.answers(room)[before].Text()
		for _, want := range []string{card.Body, card.Panels[0].Title, card.Panels[0].Body} {
			if !strings.Contains(shown, want) {
				p.t.Errorf("not shown: %q in %q", want, shown)
			}
		}
	}
	card.Live = false
	p.must(p.Client.Close(p.ctx(), id, card))
}

// With whole_cards no update of elements is sent, since nobody could tell that it is not shown.
func TestWholeCards(t *testing.T) {
	inFakeTimeOf(t, feishusim.Config{}, func(p *platform, ask chat.Ref) {
		c := p.configured(Config{WholeCards: true})
		c.api.HTTP.Transport = p.Client.api.HTTP.Transport
		p.Client = c
		p.stream(ask.Key.ID, "seed")
		if several, texts := p.callsTo(batchUpdates), p.callsTo(elementTexts); several+texts != 0 {
			p.t.Errorf("%d updates of several elements, %d of a text", several, texts)
		}
		p.clean()
	})
}

// When the platform refuses to update elements, whole cards are drawn: for this card after one refusal, for all cards
// after three.
func TestRefusedUpdatesMakeWholeCards(t *testing.T) {
	for name, refused := range map[string]string{"several elements": batchUpdates, "a text": elementTexts} {
		t.Run(name, func(t *testing.T) {
			inFakeTimeOf(t, feishusim.Config{}, func(p *platform, ask chat.Ref) {
				p.Inject(feishusim.Fault{Path: refused, Code: 300313, Msg: "update element failed"})
				for i := range maxRefusals + 2 {
					p.stream(ask.Key.ID, fmt.Sprint(i))
					if n := p.callsTo(refused); n != min(i+1, maxRefusals) {
						p.t.Errorf("%d refused updates after %d cards", n, i+1)
					}
				}
				if n := p.callsTo(elementTexts); name == "several elements" && n == 0 {
					p.t.Error("no text is streamed, although that is not refused")
				}
				if n := strings.Count(p.log.String(), "refuses to update parts"); n != 1 {
					p.t.Errorf("logged %d times: %s", n, p.log)
				}
				p.clean()
			})
		})
	}
}

// An update with unknown outcome, or the refusal of a whole card, does not count against element updates.
func TestOtherErrorsKeepTheUpdates(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	room := p.PrivateChat(p.AddUser("Ann"))
	ask := chat.Ref{Key: chat.FeishuChat(room), ID: p.Say(room, p.Users()[0], "hello")}
	card := chat.Card{Live: true, Body: "a", Status: "on it"}
	id, err := p.Client.Post(p.ctx(), ask, card, "seed")
	p.must(err)
	for i, fault := range []feishusim.Fault{
		{Path: elementTexts, Status: 502, Times: liveTries}, {Path: elementTexts, Code: 300309, Times: 2},
		{Path: cardAPI + "/", Code: 300305, Times: 2},
	} {
		p.Inject(fault)
		card.Body += "b"
		_ = p.Edit(p.ctx(), id, card) // the next call draws what is missing
		card.Body += "c"
		p.must(p.Edit(p.ctx(), id, card))
		before := p.callsTo(elementTexts)
		card.Body += "d"
		p.must(p.Edit(p.ctx(), id, card))
		if p.callsTo(elementTexts) != before+1 || !strings.Contains(p.answers(room)[0].Text(), card.Body) {
			t.Errorf("%d: %d updates, %q", i, p.callsTo(elementTexts)-before, p.answers(room)[0].Text())
		}
	}
	if level := p.messages.updates.initialLevel(); level != allUpdates || len(p.messages.updates.refusals) != 0 {
		t.Errorf("level %v, refusals %v", level, p.messages.updates.refusals)
	}
}
