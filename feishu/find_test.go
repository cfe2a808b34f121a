package feishu

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

func TestFindListsSentMessages(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	ann := p.Users()[0]
	other := chat.Ref{Key: ask.Key, ID: p.Say(ask.Key.ID, ann, "and this?")}
	_, err := p.Reply(p.ctx(), other, "not to the first", "other")
	p.must(err)
	for i := range 60 { // more than one page
		p.Say(ask.Key.ID, ann, fmt.Sprint("chatter ", i), feishusim.ReplyTo(ask.ID))
	}
	if got, err := p.Find(p.ctx(), ask); err != nil || len(got) != 0 {
		t.Errorf("found %+v, %v", got, err)
	}
	text, err := p.Reply(p.ctx(), ask, "words", "words")
	p.must(err)
	taken, err := p.Reply(p.ctx(), ask, "taken back", "taken")
	p.must(err)
	p.Recall(taken)
	card, err := p.Client.Post(p.ctx(), ask, chat.Card{Live: true, Body: "a card"}, "card")
	p.must(err)
	for _, body := range []string{"a card that", "a card that grows"} {
		p.must(p.Ready(p.ctx(), card))
		p.must(p.Edit(p.ctx(), card, chat.Card{Live: true, Body: body}))
	}
	p.Inject(feishusim.Fault{Path: cardAPI, Times: 1, Code: 99991672})
	_, err = p.Client.Post(p.ctx(), ask, chat.Card{Live: true, Body: "a plain card"}, "plain")
	p.must(err)

	p.Client = p.another()
	got, err := p.Find(p.ctx(), ask)
	p.must(err)
	if len(got) != 3 || got[0].ID != text || got[0].Card != "" || got[0].Time.IsZero() {
		t.Fatalf("found %+v", got)
	}
	if id, _, _ := strings.Cut(card, "/"); got[1].ID != id || got[1].Card == "" || got[2].Card == "" {
		t.Fatalf("found %+v, want %s", got, card)
	}
	p.must(p.Edit(p.ctx(), got[1].Card, chat.Card{Live: true, Body: "a card of another process"}))
	p.must(p.Client.Close(p.ctx(), got[1].Card, chat.Card{Body: "a whole card"}))
	p.must(p.Client.Close(p.ctx(), got[2].Card, chat.Card{Body: "a whole plain card"}))
	all := p.answers(ask.Key.ID)
	shown := []string{all[len(all)-2].Text(), all[len(all)-1].Text()}
	if shown[0] != "a whole card" || shown[1] != "a whole plain card" || all[len(all)-2].Last().Streaming {
		t.Errorf("shown %q", shown)
	}
	p.clean()
}

func TestFindInATopic(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	ann := p.AddUser("Ann")
	room := p.Group("team", ann)
	ask := chat.Ref{
		Key: chat.FeishuChat(room),
		ID:  p.Say(room, ann, "here", feishusim.Mention(), feishusim.Thread(feishusim.NewThread)),
	}
	id, err := p.Reply(p.ctx(), ask, "words", "seed")
	p.must(err)
	if got, err := p.Find(p.ctx(), ask); err != nil || len(got) != 1 || got[0].ID != id {
		t.Errorf("found %+v, %v", got, err)
	}
	p.clean()
}

func TestFindFailsOnAnIncompleteList(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	if _, err := p.Find(p.ctx(), chat.Ref{Key: ask.Key}); !errors.Is(err, errNoQuestion) {
		t.Errorf("without a question: %v", err)
	}
	_, err := p.Client.Post(p.ctx(), ask, chat.Card{Live: true}, "seed")
	p.must(err)
	for _, path := range []string{
		"/open-apis/im/v1/messages/" + ask.ID, "/open-apis/im/v1/messages", "/open-apis/cardkit/v1/cards/id_convert",
	} {
		remove := p.Inject(feishusim.Fault{Path: path, Status: 503})
		if got, err := p.Find(p.ctx(), ask); err == nil {
			t.Errorf("%s away: found %+v", path, got)
		}
		remove()
		p.api.CloseCircuit()
	}
	if got, err := p.Find(p.ctx(), ask); err != nil || len(got) != 1 {
		t.Errorf("found %+v, %v", got, err)
	}
}
