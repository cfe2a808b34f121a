package feishu

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

func TestWithoutCardKitThereIsAPlainCard(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	p.Inject(feishusim.Fault{Path: cardAPI, Code: 99991672, Msg: "cardkit:card:write is missing"})
	p.show(ask, "the whole answer")
	m := p.answers(ask.Key.ID)[0]
	if m.Type != "interactive" || m.CardID != "" || m.Last().Op != "patch" {
		t.Errorf("message %+v", m)
	}
	p.checkText(ask, "the whole answer")
	p.clean()
}

func TestWithoutCardsThereIsText(t *testing.T) {
	tests := []struct {
		refuse int
		kind   string
	}{{2, "post"}, {3, "text"}}
	for _, tt := range tests {
		t.Run(tt.kind, func(t *testing.T) {
			p, ask := newQuestion(t, feishusim.Config{})
			p.Inject(feishusim.Fault{Path: cardAPI, Code: 99991672})
			p.Inject(feishusim.Fault{Path: replyAPI, Times: tt.refuse, Code: 230099, Msg: "refused"})
			p.show(ask, "the **whole** answer")
			if m := p.answers(ask.Key.ID)[0]; m.Type != tt.kind {
				t.Errorf("first message is a %s, want %s", m.Type, tt.kind)
			}
			p.checkText(ask, "on it the **whole** answer")
			p.clean()
		})
	}
}

func TestEntityThatCannotBeSentBecomesAPlainCard(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	p.Inject(feishusim.Fault{Path: replyAPI, Times: 1, Code: 230099})
	p.show(ask, "the whole answer")
	p.checkText(ask, "the whole answer")
}

func TestCloseFallsBack(t *testing.T) {
	tests := []struct {
		name   string
		faults []feishusim.Fault
	}{
		{"card refused", []feishusim.Fault{{Method: "PUT", Path: cardAPI + "/*", Code: 10002}}},
		{"patch refused too", []feishusim.Fault{
			{Method: "PUT", Path: cardAPI + "/*", Code: 10002}, {Method: "PATCH", Path: "/open-apis/im/", Code: 230099},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, ask := newQuestion(t, feishusim.Config{})
			id, err := p.Client.Post(p.ctx(), ask, chat.Card{Live: true, Body: "a"}, "seed")
			p.must(err)
			for _, f := range tt.faults {
				p.Inject(f)
			}
			p.must(p.Client.Close(p.ctx(), id, chat.Card{Body: "a whole answer"}))
			all := p.answers(ask.Key.ID)
			if all[0].Last().Streaming {
				t.Error("the card is still live")
			}
			if got := squash(all[len(all)-1].Text()); got != "a whole answer" {
				t.Errorf("last message %q", got)
			}
		})
	}
}

func TestCloseGoesOnAfterAnError(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	id, err := p.Client.Post(p.ctx(), ask, chat.Card{Live: true}, "seed")
	p.must(err)
	text := strings.Repeat("Some words in a row.\n\n", 2000)
	p.Inject(feishusim.Fault{Path: replyAPI, Times: 2, Code: 230002})
	if err := p.Client.Close(p.ctx(), id, chat.Card{Body: text}); err == nil {
		t.Error("no error")
	}
	if err := p.Client.Close(p.ctx(), id, chat.Card{Body: text}); err == nil {
		t.Error("no error")
	}
	p.must(p.Client.Close(p.ctx(), id, chat.Card{Body: text}))
	p.checkText(ask, text)
	p.clean()
}

func TestStreamingModeIsOpenedAgain(t *testing.T) {
	inFakeTimeOf(t, feishusim.Config{StreamingTTL: time.Minute}, func(p *platform, ask chat.Ref) {
		ctx := p.t.Context()
		id, err := p.Client.Post(ctx, ask, chat.Card{Live: true, Body: "a"}, "seed")
		p.must(err)
		for _, body := range []string{"a b", "a b c"} {
			time.Sleep(61 * time.Second)
			if p.answers(ask.Key.ID)[0].Last().Streaming {
				p.t.Error("it has not timed out")
			}
			p.must(p.Edit(ctx, id, chat.Card{Live: true, Body: body}))
			if last := p.answers(ask.Key.ID)[0].Last(); last.Text != body || last.Op != "content" {
				p.t.Errorf("shown %+v", last)
			}
		}
		p.must(p.Client.Close(ctx, id, chat.Card{Body: "a b c d"}))
		p.checkText(ask, "a b c d")
	})
}

func TestStreamingModeIsOpenedBeforeItEnds(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	id, err := p.Client.Post(p.ctx(), ask, chat.Card{Live: true, Body: "a"}, "seed")
	p.must(err)
	k, err := p.cards.find(id)
	p.must(err)
	k.pages[0].entity.streamingSince = time.Now().Add(-streamingLife)
	p.must(p.Edit(p.ctx(), id, chat.Card{Live: true, Body: "a b"}))
	p.must(p.Edit(p.ctx(), id, chat.Card{Live: true, Body: "a b c"}))
	if got := p.operations(ask); got != "create settings content content" {
		t.Errorf("operations: %s", got)
	}
	p.clean()
}

func TestAnUnknownCloseIsNotRepeatedAsText(t *testing.T) {
	for _, method := range []string{"PUT", "PATCH"} {
		t.Run(method, func(t *testing.T) {
			p, ask := newQuestion(t, feishusim.Config{})
			id, err := p.Client.Post(p.ctx(), ask, chat.Card{Live: true, Body: "a"}, "seed")
			p.must(err)
			if method == "PATCH" { // the card is refused, and the outcome of the patch stays unknown
				p.Inject(feishusim.Fault{Method: "PUT", Path: cardAPI + "/*", Code: 10002})
			}
			remove := p.Inject(feishusim.Fault{Method: method, Path: "/open-apis/", Reset: true, Apply: true})
			short, cancel := context.WithTimeout(p.ctx(), time.Second)
			defer cancel()
			if err := p.Client.Close(short, id, chat.Card{Body: "a whole answer"}); err == nil {
				t.Error("no error")
			}
			remove()
			p.must(deliver(p.ctx(), func() error {
				return p.Client.Close(p.ctx(), id, chat.Card{Body: "a whole answer"})
			}))
			p.checkText(ask, "a whole answer")
			if m := p.answers(ask.Key.ID)[0]; m.Last().Streaming {
				t.Error("the card is still live")
			}
		})
	}
}

// operations lists the calls that changed the first card.
func (p *platform) operations(ask chat.Ref) string {
	var ops []string
	for _, s := range p.answers(ask.Key.ID)[0].States {
		ops = append(ops, s.Op)
	}
	return strings.Join(ops, " ")
}

func TestUnknownOutcomeIsResolved(t *testing.T) {
	faults := map[string]feishusim.Fault{
		"bad gateway":            {Status: 502, Body: "<html>bad gateway</html>"},
		"bad gateway, but done":  {Status: 502, Body: "<html>bad gateway</html>", Apply: true},
		"cut":                    {Reset: true},
		"cut, but done":          {Reset: true, Apply: true},
		"too many calls":         {Code: 99991400},
		"somebody presses":       {Code: 200810},
		"sequence, whatever for": {Code: 300317},
		"token not valid":        {Code: 99991663},
	}
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			p, ask := newQuestion(t, feishusim.Config{})
			id, err := p.Client.Post(p.ctx(), ask, chat.Card{Live: true, Body: "a"}, "seed")
			p.must(err)
			f.Path, f.Times = cardAPI+"/", 1
			p.Inject(f)
			p.must(p.Edit(p.ctx(), id, chat.Card{Live: true, Body: "a b"}))
			p.Inject(f)
			p.must(p.Client.Close(p.ctx(), id, chat.Card{Body: "a b c"}))
			if got := p.operations(ask); got != "create content update" {
				t.Errorf("operations: %s", got)
			}
			p.checkText(ask, "a b c")
			p.clean()
		})
	}
}

func TestSendIsRepeatedOnce(t *testing.T) {
	for name, f := range map[string]feishusim.Fault{"not done": {Status: 503}, "done": {Reset: true, Apply: true}} {
		t.Run(name, func(t *testing.T) {
			p, ask := newQuestion(t, feishusim.Config{})
			f.Path, f.Times = replyAPI, 1
			p.Inject(f)
			p.show(ask, "one answer")
			if n := len(p.answers(ask.Key.ID)); n != 1 {
				t.Errorf("%d messages", n)
			}
			p.checkText(ask, "one answer")
			p.clean()
		})
	}
}

func TestLostEntityIsReplaced(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	id, err := p.Client.Post(p.ctx(), ask, chat.Card{Live: true, Body: "a"}, "seed")
	p.must(err)
	p.Inject(feishusim.Fault{Method: "PUT", Path: cardAPI + "/", Times: 1, Code: 200750})
	p.must(p.Edit(p.ctx(), id, chat.Card{Live: true, Body: "a b"}))
	p.must(p.Edit(p.ctx(), id, chat.Card{Live: true, Body: "a b c"}))
	if all := p.answers(ask.Key.ID); len(all) != 2 || all[1].Text() != "a b c" {
		t.Errorf("messages %+v", all)
	}
}

func TestReplyToADeletedQuestion(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	p.Recall(ask.ID)
	if _, err := p.Client.Post(p.ctx(), ask, chat.Card{Live: true}, "seed"); !errors.Is(err, chat.ErrGone) {
		t.Errorf("Post: %v", err)
	}
	if _, err := p.Reply(p.ctx(), ask, "x", "seed2"); !errors.Is(err, chat.ErrGone) {
		t.Errorf("Reply: %v", err)
	}
	if n := len(p.answers(ask.Key.ID)); n != 0 {
		t.Errorf("%d messages", n)
	}
}

// Text that the platform forbids has an error of its own, and a neutral text is sent in its place.
func TestForbiddenWords(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	id, err := p.Client.Post(p.ctx(), ask, chat.Card{Live: true, Status: "on it"}, "seed")
	p.must(err)
	var allow []func()
	for _, f := range []feishusim.Fault{
		{Method: "PUT", Path: cardAPI + "/"}, {Method: "PATCH", Path: "/open-apis/im/"}, {Path: replyAPI},
	} {
		f.Code = 230028
		allow = append(allow, p.Inject(f))
	}
	if err := p.Client.Close(p.ctx(), id, chat.Card{Body: "forbidden"}); !errors.Is(err, chat.ErrRefused) {
		t.Errorf("Close: %v", err)
	}
	if _, err := p.Reply(p.ctx(), ask, "forbidden", "words"); !errors.Is(err, chat.ErrRefused) {
		t.Errorf("Reply: %v", err)
	}
	for _, f := range allow {
		f()
	}
	p.must(p.Client.Close(p.ctx(), id, chat.Card{Body: "something else"}))
	p.checkText(ask, "something else")
}
