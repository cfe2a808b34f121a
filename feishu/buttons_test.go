package feishu

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

// buttonCard is a final card with a button.
var buttonCard = chat.Card{Body: "the answer", Buttons: []chat.Button{{Label: "New", Action: chat.Action{Do: "new"}}}}

// closed posts and closes a card and returns where its buttons are.
func (p *platform) closed(ask chat.Ref, card chat.Card) (buttons string) {
	p.t.Helper()
	var shown chat.Shown
	card.Shown = &shown
	id, err := p.Client.Post(p.ctx(), ask, chat.Card{Live: true, Body: "a"}, "seed")
	p.must(err)
	p.must(p.Client.Close(p.ctx(), id, card))
	return shown.Buttons
}

// removals is the number of calls that remove an element.
func (p *platform) removals() (n int) {
	for _, c := range p.Calls() {
		if c.Method == http.MethodDelete {
			n++
		}
	}
	return n
}

// Buttons are removed from the message that shows them, by a later process as well, with one call; the rest stays.
func TestButtonsAreRemoved(t *testing.T) {
	for name, body := range map[string]string{"one page": "answer", "pages": strings.Repeat("Some words.\n\n", 5000)} {
		t.Run(name, func(t *testing.T) {
			inFakeTimeOf(t, feishusim.Config{}, func(p *platform, ask chat.Ref) {
				card := buttonCard
				card.Body = body
				buttons := p.closed(ask, card)
				before := p.answers(ask.Key.ID)
				time.Sleep(time.Second) // the later process
				later := p.configured(Config{})
				later.api.HTTP.Transport = p.Client.api.HTTP.Transport
				p.must(later.RemoveButtons(p.ctx(), buttons))
				after := p.answers(ask.Key.ID)
				for i, m := range before {
					want := strings.TrimSuffix(m.Text(), "\nNew")
					if last := i == len(before)-1; (want != m.Text()) != last || after[i].Text() != want || after[i].Last().Streaming {
						p.t.Errorf("page %d of %d was %q and is %+v", i, len(before), m.Text(), after[i].Last())
					}
				}
				if p.removals() != 1 {
					p.t.Errorf("%d calls", p.removals())
				}
				p.clean()
			})
		})
	}
}

// A card that became shorter has its buttons on the last message with text.
func TestTheButtonsOfAShorterCard(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	long := chat.Card{Live: true, Body: strings.Repeat("Some words.\n\n", 5000)}
	id, err := p.Client.Post(p.ctx(), ask, long, "seed")
	p.must(err)
	card, shown := buttonCard, chat.Shown{}
	card.Shown = &shown
	p.must(p.Client.Close(p.ctx(), id, card))
	p.must(p.Client.RemoveButtons(p.ctx(), shown.Buttons))
	for _, m := range p.answers(ask.Key.ID) {
		if strings.Contains(m.Text(), "New") {
			t.Errorf("shown %q", m.Text())
		}
	}
	p.clean()
}

// Where buttons cannot be removed alone, nothing is tried: on a card inside its message, in a text, on a card entity that
// the platform has forgotten. A refusal is an error, and the card does not stream again.
func TestButtonsThatStay(t *testing.T) {
	for name, kind := range map[string]string{"inside its message": howPlain, "text": howText} {
		t.Run(name, func(t *testing.T) {
			p, ask := newQuestion(t, feishusim.Config{})
			p.Inject(feishusim.Fault{Method: http.MethodPost, Path: "/open-apis/cardkit/v1/cards", Code: 200220})
			if kind == howText {
				p.Inject(feishusim.Fault{Path: "/open-apis/im/v1/messages/" + ask.ID + "/reply", Code: 230099, Times: 2})
			}
			buttons := p.closed(ask, buttonCard)
			if !strings.Contains(buttons, "/"+kind+"/") {
				t.Fatalf("shown as %s", buttons)
			}
			p.must(p.Client.RemoveButtons(p.ctx(), buttons))
			if p.removals() != 0 {
				t.Error("removed anyway")
			}
		})
	}
	t.Run("an old entity", func(t *testing.T) {
		inFakeTimeOf(t, feishusim.Config{}, func(p *platform, ask chat.Ref) {
			buttons := p.closed(ask, buttonCard)
			time.Sleep(entityLife + time.Minute)
			synctest.Wait()
			p.must(p.Client.RemoveButtons(p.ctx(), buttons))
			if p.removals() != 0 {
				p.t.Error("removed anyway")
			}
		})
	})
	t.Run("refused", func(t *testing.T) {
		p, ask := newQuestion(t, feishusim.Config{})
		p.Inject(feishusim.Fault{Method: http.MethodDelete, Path: "/open-apis/cardkit/v1/cards/", Code: 300309})
		if err := p.Client.RemoveButtons(p.ctx(), p.closed(ask, buttonCard)); err == nil {
			t.Error("no error")
		}
		if m := p.answers(ask.Key.ID)[0]; m.Last().Streaming || !strings.Contains(m.Text(), "New") || p.removals() != 1 {
			t.Errorf("shown %+v, after %d calls", m.Last(), p.removals())
		}
		if err := p.Client.RemoveButtons(p.ctx(), "nonsense"); err == nil {
			t.Error("nonsense is the ID of a card")
		}
	})
}
