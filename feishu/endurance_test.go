package feishu

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"magpie/feishu/feishutest"
	"magpie/internal/chat"
	"magpie/internal/feishusim"
	"magpie/internal/racetest"
)

// inFakeTime runs a test on a fake clock, so hours pass at once, against a strict platform. It fails if a rule was
// broken.
func inFakeTime(t *testing.T, test func(p *platform, ask chat.Ref)) {
	inFakeTimeOf(t, feishusim.Config{}, func(p *platform, ask chat.Ref) {
		test(p, ask)
		p.clean()
	})
}

// inFakeTimeOf is inFakeTime with a configuration of the platform.
func inFakeTimeOf(t *testing.T, cfg feishusim.Config, test func(p *platform, ask chat.Ref)) {
	synctest.Test(t, func(t *testing.T) {
		pipe := feishusim.NewPipe()
		cfg.Pipe = pipe
		sim, err := feishusim.Start(cfg)
		if err != nil {
			t.Fatal(err)
		}
		p := &platform{Server: sim, t: t, log: &syncBuffer{}}
		p.Client = New(Config{AppID: p.AppID(), AppSecret: p.AppSecret(), BaseURL: p.URL()},
			zerolog.New(p.log).Level(zerolog.InfoLevel))
		transport := p.Client.api.HTTP.Transport.(*http.Transport)
		transport.DialContext = pipe.Dial
		room := p.PrivateChat(p.AddUser("Ann"))
		test(p, chat.Ref{Key: chat.FeishuChat(room), ID: p.Say(room, p.Users()[0], "write a book")})
		transport.CloseIdleConnections()
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
	})
}

// While the platform takes no more text for a card, nobody waits for it: the answer is shown when it is complete, by
// another API. The limited one is left alone until it is reset, also for other cards.
func TestALimitedAPIHoldsUpNothing(t *testing.T) {
	inFakeTimeOf(t, feishusim.Config{}, func(p *platform, ask chat.Ref) {
		ctx := p.t.Context()
		var cards []string
		for _, idem := range []string{"a", "b"} {
			id, err := p.Client.Post(ctx, ask, chat.Card{Live: true, Body: "a"}, idem)
			p.must(err)
			cards = append(cards, id)
		}
		heal := p.Inject(feishusim.Fault{Path: cardAPI + "/*/elements/*/content", Code: 99991400, RetryAfter: 40 * time.Second})
		began := time.Now()
		for _, id := range cards {
			if err := p.Edit(ctx, id, chat.Card{Live: true, Body: "a b"}); err == nil {
				p.t.Error("drawn")
			}
		}
		if n := p.callsTo(cardAPI + "/*/elements/*/content"); n != 1 {
			p.t.Errorf("%d calls", n)
		}
		p.must(p.Client.Close(ctx, cards[0], chat.Card{Body: "a b c"}))
		if took := time.Since(began); took > 3*time.Second {
			p.t.Errorf("closed after %v", took)
		}
		idle, stop := context.WithTimeout(ctx, 10*time.Second)
		if p.Ready(idle, cards[1]) == nil {
			p.t.Error("ready before the reset")
		}
		stop()
		p.must(p.Ready(ctx, cards[1]))
		heal()
		p.must(p.Edit(ctx, cards[1], chat.Card{Live: true, Body: "a b"}))
		if took := time.Since(began); took < 40*time.Second || took > 45*time.Second {
			p.t.Errorf("drawn after %v", took)
		}
		p.must(p.Client.Close(ctx, cards[1], chat.Card{Body: "a b"}))
	})
}

// checkRead fails unless the chat shows all lines of the text, each once and in order.
func (p *platform) checkRead(ask chat.Ref, text string) {
	p.t.Helper()
	var pages []string
	for _, m := range p.answers(ask.Key.ID) {
		pages = append(pages, m.Text())
	}
	p.must(feishutest.Read(pages, text))
}

// checkAges fails if a card was streamed to for too long or is still live.
func (p *platform) checkAges(ask chat.Ref, most time.Duration) {
	p.t.Helper()
	for i, m := range p.answers(ask.Key.ID) {
		last := m.Created
		for _, s := range m.States {
			if s.Streaming {
				last = s.At
			}
		}
		if age := last.Sub(m.Created); age > most || m.Last().Streaming {
			p.t.Errorf("card %d was streamed to for %v, and now %v", i, age, m.Last().Streaming)
		}
	}
}

// grow streams a text in that many pieces.
func (p *platform) grow(ask chat.Ref, text string, pieces int, every time.Duration) {
	p.t.Helper()
	ctx := p.t.Context()
	card := chat.Card{
		Live: true, Status: "on it", Panels: []chat.Panel{{Title: "steps", Body: "- one"}},
		Buttons: []chat.Button{{Label: "Stop", Action: chat.Action{Do: "stop"}}},
	}
	id, err := p.Client.Post(ctx, ask, card, "seed")
	p.must(err)
	for i := range pieces {
		end := len(text) * (i + 1) / pieces
		for end < len(text) && !utf8.RuneStart(text[end]) {
			end++
		}
		card.Body = text[:end]
		card.Status = fmt.Sprintf("writing, %d", i/10)
		card.Panels = []chat.Panel{{Title: fmt.Sprintf("%d steps", i/20), Body: strings.Repeat("- `step`\n", i/20)}}
		time.Sleep(every)
		p.must(p.Ready(ctx, id))
		p.must(p.Edit(ctx, id, card))
	}
	card.Live, card.Status, card.Buttons, card.Footer = false, "", nil, "20 min"
	p.must(p.Client.Close(ctx, id, card))
}

func TestALongTextIsStreamedForTwentyMinutes(t *testing.T) {
	racetest.Skip(t)
	text := feishutest.Book(30)
	if n := utf8.RuneCountInString(text); n < 120_000 || strings.Count(text, "|:---|") < 30 {
		t.Fatalf("%d letters", n)
	}
	inFakeTime(t, func(p *platform, ask chat.Ref) {
		p.grow(ask, text, 1200, time.Second)
		p.checkRead(ask, text)
		p.checkAges(ask, 8*time.Minute)
		p.t.Logf("%d letters on %d cards in %d calls", utf8.RuneCountInString(text), len(p.answers(ask.Key.ID)),
			len(p.Calls()))
	})
}

func TestASlowAnswerStartsANewCardInTime(t *testing.T) {
	var b strings.Builder
	for i := range 240 {
		fmt.Fprintf(&b, "Line (%05d) of a slow answer.\n", i)
	}
	inFakeTime(t, func(p *platform, ask chat.Ref) {
		p.grow(ask, b.String(), 240, 15*time.Second)
		p.checkRead(ask, b.String())
		p.checkAges(ask, 8*time.Minute)
		if n := len(p.answers(ask.Key.ID)); n < 8 || n > 9 {
			p.t.Errorf("an hour takes %d cards", n)
		}
	})
}

func TestACardWithoutTextStaysForHours(t *testing.T) {
	inFakeTime(t, func(p *platform, ask chat.Ref) {
		card := chat.Card{Live: true, Status: "running"}
		id, err := p.Client.Post(p.t.Context(), ask, card, "seed")
		p.must(err)
		for i := range 180 {
			time.Sleep(time.Minute)
			card.Status = fmt.Sprintf("running for %d min", i)
			p.must(p.Edit(p.t.Context(), id, card))
		}
		p.must(p.Client.Close(p.t.Context(), id, chat.Card{Body: "done"}))
		if n := len(p.answers(ask.Key.ID)); n != 1 {
			p.t.Errorf("%d cards", n)
		}
		p.checkText(ask, "done")
	})
}
