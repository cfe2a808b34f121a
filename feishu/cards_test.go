package feishu

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

// newQuestion returns a platform on which somebody has asked a question.
func newQuestion(t *testing.T, cfg feishusim.Config) (*platform, chat.Ref) {
	p := newPlatform(t, cfg)
	room := p.PrivateChat(p.AddUser("Ann"))
	id := p.Say(room, p.Users()[0], "hello")
	return p, chat.Ref{Key: chat.FeishuChat(room), ID: id}
}

// answers are the bot's messages in a chat.
func (p *platform) answers(chatID string) []feishusim.Message {
	var out []feishusim.Message
	for _, m := range p.Messages(chatID) {
		if m.FromBot {
			out = append(out, m)
		}
	}
	return out
}

func (p *platform) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatalf("%v\n%s", err, p.log)
	}
}

// While a card changes only its last page has the header. At the end each page has it.
func TestTheHeaderOfACardWithPages(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	card := chat.Card{Title: "Working", State: chat.CardRunning, Live: true, Body: strings.Repeat("Some words.\n\n", 2000)}
	id, err := p.Client.Post(p.ctx(), ask, card, "seed")
	p.must(err)
	headers := func() (list []string) {
		for _, m := range p.answers(ask.Key.ID) {
			list = append(list, gjson.GetBytes(m.Last().Card, "header.template").String())
		}
		return list
	}
	if got := headers(); len(got) < 2 || got[0] != "" || got[len(got)-1] != "blue" {
		t.Errorf("while it grows: %q", got)
	}
	card.Title, card.State, card.Live = "Done", chat.CardDone, false
	p.must(p.Client.Close(p.ctx(), id, card))
	for i, color := range headers() {
		if color != "green" {
			t.Errorf("page %d is %q at the end", i, color)
		}
	}
	p.clean()
}

func TestCardGrowsAndCloses(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	stop := chat.Button{Label: "Stop", Action: chat.Action{Do: "stop", Turn: 7}}
	card := chat.Card{Status: "thinking", Live: true, Buttons: []chat.Button{stop}}
	id, err := p.Client.Post(p.ctx(), ask, card, "turn-7")
	p.must(err)

	for _, body := range []string{"Hello", "Hello, I", "Hello, I am"} {
		card.Body = body
		p.must(p.Ready(p.ctx(), id))
		p.must(p.Edit(p.ctx(), id, card))
		if got := p.answers(ask.Key.ID)[0].Text(); !strings.Contains(got, body) || !strings.Contains(got, "thinking") {
			t.Errorf("shown %q, want %q", got, body)
		}
	}
	began := time.Now()
	p.must(p.Client.Close(p.ctx(), id, chat.Card{Body: "Hello, I am here.", Footer: "3 s", Summary: "done"}))
	t.Logf("Close took %v", time.Since(began))

	all := p.answers(ask.Key.ID)
	if len(all) != 1 || all[0].ParentID != ask.ID {
		t.Fatalf("messages: %+v", all)
	}
	last := all[0].Last()
	if last.Streaming || strings.Contains(last.Text, "Stop") || strings.Contains(last.Text, "thinking") {
		t.Errorf("last: %+v", last)
	}
	if !strings.HasPrefix(last.Text, "Hello, I am here.") || !strings.Contains(last.Text, "3 s") {
		t.Errorf("last text %q", last.Text)
	}
	if got := p.operations(ask); got != "create content content content update" {
		t.Errorf("operations: %s", got)
	}
	p.clean()
}

func TestLongStreamBreaksNoRule(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	card := chat.Card{Live: true, Status: "writing"}
	id, err := p.Client.Post(p.ctx(), ask, card, "seed")
	p.must(err)
	for i := range 40 {
		card.Body += fmt.Sprintf("Paragraph %d. %s\n\n", i, strings.Repeat("Some words in a row. ", 60))
		if i%7 == 0 {
			card.Status = fmt.Sprintf("step %d", i)
		}
		p.must(p.Ready(p.ctx(), id))
		p.must(p.Edit(p.ctx(), id, card))
	}
	card.Live, card.Status = false, ""
	p.must(p.Client.Close(p.ctx(), id, card))

	all := p.answers(ask.Key.ID)
	if len(all) < 2 {
		t.Fatalf("%d cards, want some", len(all))
	}
	for i, m := range all {
		if m.Last().Streaming {
			t.Errorf("card %d is in streaming mode", i)
		}
	}
	p.checkText(ask, card.Body)
	p.clean()
}

// checkText fails unless the bot's messages together show the text.
func (p *platform) checkText(ask chat.Ref, text string) {
	p.t.Helper()
	var all strings.Builder
	for _, m := range p.answers(ask.Key.ID) {
		all.WriteString(m.Text() + "\n")
	}
	if got, want := squash(all.String()), squash(text); got != want {
		p.t.Errorf("the messages together differ from the text:\n%.2000q\n%.2000q\n%s", got, want, p.log)
	}
}

// zeroWidthSpace is inserted into a text so that it is not parsed as markup.
const zeroWidthSpace = "\u200b"

func squash(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(s, zeroWidthSpace, "")), " ")
}

// show opens a card, streams this text to it and closes it.
func (p *platform) show(ask chat.Ref, text string) {
	p.t.Helper()
	id, err := p.Client.Post(p.ctx(), ask, chat.Card{Live: true, Status: "on it"}, "seed")
	p.must(err)
	p.must(p.Ready(p.ctx(), id))
	p.must(p.Edit(p.ctx(), id, chat.Card{Live: true, Body: text[:len(text)/2]}))
	p.must(p.Client.Close(p.ctx(), id, chat.Card{Body: text}))
}

const (
	cardAPI  = "/open-apis/cardkit/v1/cards"
	replyAPI = "/open-apis/im/v1/messages/*/reply"
)

func TestAnotherProcessContinuesACard(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	id, err := p.Client.Post(p.ctx(), ask, chat.Card{Live: true, Status: "on it"}, "seed")
	p.must(err)
	text := strings.Repeat("Some words in a row.\n\n", 1500)
	p.must(p.Edit(p.ctx(), id, chat.Card{Live: true, Body: text}))
	before := len(p.answers(ask.Key.ID))
	if before < 2 {
		t.Fatalf("%d cards", before)
	}
	p.Client = p.another()
	p.must(p.Edit(p.ctx(), id, chat.Card{Live: true, Body: text, Status: "again"}))
	if all := p.answers(ask.Key.ID); !strings.Contains(all[len(all)-1].Text(), "again") {
		t.Errorf("the last card shows %q", all[len(all)-1].Text())
	}
	p.must(p.Edit(p.ctx(), id, chat.Card{Live: true, Body: text, Status: "and again"}))
	p.Client = p.another()
	p.must(p.Client.Close(p.ctx(), id, chat.Card{Body: text}))
	if after := len(p.answers(ask.Key.ID)); after != before {
		t.Errorf("%d cards became %d", before, after)
	}
	p.checkText(ask, text)
	for i, m := range p.answers(ask.Key.ID) {
		if m.Last().Streaming {
			t.Errorf("card %d is still live", i)
		}
	}
	p.clean()
}

// The process that opened a card and one that knows only its durable id may draw in turns, for example when somebody
// presses a button of a card that is still being posted. Their sequence numbers must keep growing.
func TestTwoProcessesShareTheSequenceOfACard(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	id, err := p.Client.Post(p.ctx(), ask, chat.Card{Live: true, Body: "begun"}, "seed")
	p.must(err)
	other := p.another()
	for i, c := range []*Client{other, p.Client, other} {
		time.Sleep(2 * time.Millisecond) // sequences count milliseconds: the clock must advance
		p.must(c.Edit(p.ctx(), id, chat.Card{Live: true, Body: fmt.Sprint("begun ", i)}))
	}
	time.Sleep(2 * time.Millisecond) // as above
	p.must(p.Client.Close(p.ctx(), id, chat.Card{Body: "done"}))
	p.checkText(ask, "done")
	p.clean()
}

// A closed card may be drawn again through another value, perhaps within the same millisecond. The sequence number
// keeps growing, even if the clock is behind the card's time.
func TestTheSequenceOfACardGrowsAfterItsClose(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	id, err := p.Client.Post(p.ctx(), ask, chat.Card{Live: true, Body: "begun"}, "seed")
	p.must(err)
	parts := strings.Split(id, "/")
	parts[2] = strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 36)
	id = strings.Join(parts, "/")
	for i := range 3 {
		p.must(p.Client.Close(p.ctx(), id, chat.Card{Body: fmt.Sprint("done ", i)}))
	}
	p.checkText(ask, "done 2")
	p.clean()
}

func TestTwoValuesOfACardShareASequence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the clock does not move by itself
		ms := messages{sequences: &sequences{last: map[string]sequence{}}}
		created := time.Now().Add(-time.Second)
		var last int32
		next := func(e *entity) {
			got := e.sequences.next(e.id, e.created)
			if got <= last {
				t.Errorf("%d after %d", got, last)
			}
			last = got
		}
		first := ms.entity("card", created)
		next(first)
		next(first)
		second := ms.entity("card", created)
		next(second)
		second.sequences.skip("card", maxSequenceJump)
		for i := range maxCachedCards { // a card whose sequence is ahead of the clock is not evicted
			next := ms.entity(fmt.Sprint(i), created)
			next.sequences.next(next.id, created)
		}
		next(ms.entity("card", created))
		time.Sleep(24 * time.Hour)
		next(first)
		if n := len(ms.sequences.last); n > 1 {
			t.Errorf("%d cards are cached", n)
		}
	})
}

func TestPostIsDoneOnce(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	_, err := p.Client.Post(p.ctx(), ask, chat.Card{Live: true, Status: "on it"}, "seed")
	p.must(err)
	p.Client = p.another()
	id, err := p.Client.Post(p.ctx(), ask, chat.Card{Live: true, Status: "on it"}, "seed")
	p.must(err)
	p.must(p.Edit(p.ctx(), id, chat.Card{Live: true, Body: "a"}))
	p.must(p.Client.Close(p.ctx(), id, chat.Card{Body: "a b"}))
	if n := len(p.answers(ask.Key.ID)); n != 1 {
		t.Errorf("%d messages", n)
	}
	p.checkText(ask, "a b")
}

func TestTextThatBecomesShorter(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	id, err := p.Client.Post(p.ctx(), ask, chat.Card{Live: true, Body: strings.Repeat("Some words in a row.\n\n", 700)},
		"seed")
	p.must(err)
	p.must(p.Client.Close(p.ctx(), id, chat.Card{Body: "no, this"}))
	p.checkText(ask, "no, this …")
	p.clean()
}

func TestEmptyCards(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	for i, c := range []chat.Card{
		{}, {Live: true}, {Live: true, Status: "x"}, {Live: true, Body: " \n"}, {Buttons: []chat.Button{{}}},
	} {
		id, err := p.Client.Post(p.ctx(), ask, c, fmt.Sprint("seed", i))
		p.must(err)
		c.Status = "y"
		p.must(p.Edit(p.ctx(), id, c))
		p.must(p.Client.Close(p.ctx(), id, chat.Card{}))
	}
	p.clean()
}

func TestManyCardsAtOnceKeepTheLimits(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	var wg sync.WaitGroup
	for i := range 8 {
		room := p.PrivateChat(p.AddUser(fmt.Sprint("user", i)))
		wg.Go(func() {
			id, err := p.Client.Post(p.ctx(), chat.Ref{Key: chat.FeishuChat(room)}, chat.Card{Live: true},
				fmt.Sprint(i))
			if err != nil {
				t.Error(err)
				return
			}
			body := ""
			for range 12 {
				body += "more "
				if err := errors.Join(p.Ready(p.ctx(), id),
					p.Edit(p.ctx(), id, chat.Card{Live: true, Body: body})); err != nil {
					t.Error(err)
				}
			}
			if err := p.Client.Close(p.ctx(), id, chat.Card{Body: body}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	p.clean()
}

func TestUnknownCardIDs(t *testing.T) {
	c := New(Config{AppID: "cli_x", AppSecret: "x"}, nopLogger)
	for _, id := range []string{"", "x", "a/b/c/d", "///zz//", "om_1/1/!/oc/om"} {
		if err := c.Edit(t.Context(), id, chat.Card{}); !errors.Is(err, errCardID) {
			t.Errorf("Edit(%q): %v", id, err)
		}
	}
}

// Each part of a card keeps its own message, whichever process draws it.
func TestThePartsOfACardKeepTheirMessages(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	id, err := p.Client.Post(p.ctx(), ask, chat.Card{Live: true, Body: "I will"}, "seed")
	p.must(err)
	p.must(p.Edit(p.ctx(), id, chat.Card{Live: true, Body: "I will run it."}))
	other, err := p.Client.Post(p.ctx(), ask, chat.Card{Body: "May it?"}, "other")
	p.must(err)
	parts, above := []chat.Part{{Body: "I will run it.", Status: "below"}},
		"<font color='grey'>below</font> I will run it."
	check := func(when string, want ...string) {
		t.Helper()
		list := p.answers(ask.Key.ID)
		got := make([]string, 0, len(list))
		for _, m := range list {
			got = append(got, squash(m.Text()))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	p.must(p.Edit(p.ctx(), id, chat.Card{Live: true, Earlier: parts, Body: "It has"}))
	check("live", above, "May it?", "It has")
	last := chat.Card{Earlier: parts, Body: "It has run.", Others: []string{other}}
	p.Client = p.another()
	p.must(p.Client.Close(p.ctx(), id, last))
	check("closed", above, "May it?", "It has run.")
	p.ForgetKeys()
	old := strings.Split(id, "/")
	old[2] = strconv.FormatInt(time.Now().Add(-time.Hour).Unix(), 36)
	p.Client, last.Body = p.another(), "It ran."
	p.must(p.Client.Close(p.ctx(), strings.Join(old, "/"), last))
	check("an hour later", above, "May it?", "It ran.")
	p.clean()
}

// The messages of a card are known while this process draws it, and the first one always.
func TestTheCardOfAMessage(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	id, err := p.Client.Post(p.ctx(), ask, chat.Card{Live: true, Status: "on it"}, "seed")
	p.must(err)
	text := strings.Repeat("Some words in a row.\n\n", 1500)
	p.must(p.Edit(p.ctx(), id, chat.Card{Live: true, Body: text}))
	pages := p.answers(ask.Key.ID)
	if len(pages) < 2 {
		t.Fatalf("%d pages", len(pages))
	}
	otherID, err := p.Client.Post(p.ctx(), ask, chat.Card{Live: true, Body: "another card"}, "other")
	p.must(err)
	other, first := p.answers(ask.Key.ID)[len(pages)].ID, pages[0].ID
	if chat.FirstMessage(id) != first || chat.FirstMessage(otherID) != other {
		t.Errorf("%q and %q begin with %q and %q", id, otherID, first, other)
	}
	check := func(when, later string) {
		t.Helper()
		for i, page := range pages {
			want := later
			if i == 0 {
				want = first
			}
			if want == "" {
				want = page.ID
			}
			if got := p.CardOf(page.ID); got != want {
				t.Errorf("%s: page %d is of card %s, want %s", when, i, got, want)
			}
		}
		for _, own := range []string{other, ask.ID, "", "om_nothing"} {
			if got := p.CardOf(own); got != own {
				t.Errorf("%s: %q is of card %q", when, own, got)
			}
		}
	}
	check("while it is drawn", first)
	p.Client = p.another()
	check("in another process", "")
	p.must(p.Edit(p.ctx(), id, chat.Card{Live: true, Body: text, Status: "again"}))
	check("drawn by another process", first)
	p.must(p.Client.Close(p.ctx(), id, chat.Card{Body: text}))
	check("closed", "")
	p.clean()
}

// A message may be the first of several durable IDs, for example if its card is posted again. They are of one card.
func TestAMessageWithSeveralDurableIDs(t *testing.T) {
	inFakeTimeOf(t, feishusim.Config{}, func(p *platform, ask chat.Ref) {
		p.Inject(feishusim.Fault{Method: http.MethodPost, Path: cardAPI, Code: 200220}) // a plain card has no time of its own
		id, err := p.Client.Post(p.ctx(), ask, chat.Card{Live: true, Body: "a"}, "seed")
		p.must(err)
		time.Sleep(2 * time.Second) // IDs name the second
		again, err := p.Client.Post(p.ctx(), ask, chat.Card{Live: true, Body: "a"}, "seed")
		p.must(err)
		p.must(p.Edit(p.ctx(), again, chat.Card{Live: true, Body: strings.Repeat("Some words in a row.\n\n", 3000)}))
		pages := p.answers(ask.Key.ID)
		if id == again || len(pages) < 2 {
			p.t.Fatalf("%q, %q, %d pages", id, again, len(pages))
		}
		for i, page := range pages {
			if first := p.CardOf(page.ID); first != chat.FirstMessage(id) || first != chat.FirstMessage(again) {
				p.t.Errorf("page %d is of card %q, whose IDs are %q and %q", i, first, id, again)
			}
		}
	})
}
