package feishu

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"magpie/feishu/cardjson"
	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

// A process is killed between the pages of a long answer, with the response to a call pending or not, and the next
// process closes the same card.
func TestKilledBetweenPages(t *testing.T) {
	text := strings.Repeat("Some words in a row, and some more.\n\n", 1000)
	pages := len(cardjson.Split(text))
	if pages < 3 {
		t.Fatalf("%d pages", pages)
	}
	for _, lost := range []bool{false, true} {
		name := "page not sent"
		if lost {
			name = "page sent, answer lost"
		}
		t.Run(name, func(t *testing.T) {
			p, ask := newQuestion(t, feishusim.Config{})
			id, err := p.Client.Post(p.ctx(), ask, chat.Card{Live: true, Status: "on it"}, "seed")
			p.must(err)
			for page := 1; page < pages; page++ {
				p.Client = p.another()
				life, kill := context.WithCancel(p.ctx())
				remove := p.Inject(feishusim.Fault{Path: replyAPI, Reset: true, Apply: lost})
				if page > 1 { // earlier pages are sent again under the same key: no effect
					p.Inject(feishusim.Fault{Path: replyAPI, Times: page - 1, Delay: time.Nanosecond})
				}
				before := cutCalls(p.View())
				dead := make(chan error, 1)
				go func() { dead <- p.Client.Close(life, id, chat.Card{Body: text}) }()
				p.await("the page is sent", func(v *feishusim.View) bool { return cutCalls(v) > before })
				kill()
				if err := <-dead; err == nil {
					t.Error("Close: no error")
				}
				remove()
				want := page
				if lost {
					want++
				}
				if n := len(p.answers(ask.Key.ID)); n != want {
					t.Errorf("%d messages when killed at page %d, want %d", n, page, want)
				}
			}
			p.Client = p.another()
			p.must(p.Client.Close(p.ctx(), id, chat.Card{Body: text}))
			p.must(p.another().Close(p.ctx(), id, chat.Card{Body: text})) // repeated: that it succeeded was not stored
			if n := len(p.answers(ask.Key.ID)); n != pages {
				t.Errorf("%d messages, want %d", n, pages)
			}
			p.answeredOnce(ask, text)
		})
	}
}

// A turn of more than an hour whose process was killed after it had shown some pages.
func TestPagesOfAnHourAgoAreFound(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	text := strings.Repeat("Some words in a row, and some more.\n\n", 1000)
	pages := len(cardjson.Split(text))
	id, err := p.Client.Post(p.ctx(), ask, chat.Card{Live: true, Body: text[:len(text)/pages*(pages-1)]}, "seed")
	p.must(err)
	if n := len(p.answers(ask.Key.ID)); n < 2 || n >= pages {
		t.Fatalf("%d of %d pages", n, pages)
	}
	p.ForgetKeys()
	parts := strings.Split(id, "/")
	parts[2] = strconv.FormatInt(time.Now().Add(-time.Hour).Unix(), 36)
	p.Client = p.another()
	p.must(p.Client.Close(p.ctx(), strings.Join(parts, "/"), chat.Card{Body: text}))
	if n := len(p.answers(ask.Key.ID)); n != pages {
		t.Errorf("%d messages, want %d", n, pages)
	}
	p.answeredOnce(ask, text)
	p.clean()
}

func TestPagesThatCannotBeFoundAreSent(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	id, err := p.Client.Post(p.ctx(), ask, chat.Card{Live: true, Body: "a"}, "seed")
	p.must(err)
	parts := strings.Split(id, "/")
	parts[2] = strconv.FormatInt(time.Now().Add(-time.Hour).Unix(), 36)
	p.Client = p.another()
	p.Inject(feishusim.Fault{Method: "GET", Path: "/open-apis/im/v1/messages", Code: 230027})
	text := strings.Repeat("Some words in a row, and some more.\n\n", 1000)
	p.must(p.Client.Close(p.ctx(), strings.Join(parts, "/"), chat.Card{Body: text}))
	p.answeredOnce(ask, text)
	p.clean()
}

// cutCalls counts the calls whose connection was cut.
func cutCalls(v *feishusim.View) int {
	n := 0
	for _, c := range v.Calls() {
		if c.Faulty && c.Status == 0 {
			n++
		}
	}
	return n
}
