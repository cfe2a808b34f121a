package feishu

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

// inFakeTime runs a test against a strict platform in whose time hours pass at once.
func inFakeTime(t *testing.T, test func(p *platform, ask chat.Ref)) {
	synctest.Test(t, func(t *testing.T) {
		pipe := feishusim.NewPipe()
		sim, err := feishusim.Start(feishusim.Config{Pipe: pipe})
		if err != nil {
			t.Fatal(err)
		}
		p := &platform{Server: sim, t: t, log: &syncBuffer{}}
		p.Client = New(Config{AppID: p.AppID(), AppSecret: p.AppSecret(), BaseURL: p.URL()}, zerolog.New(p.log).Level(zerolog.InfoLevel))
		transport := p.Client.api.http.Transport.(*http.Transport)
		transport.DialContext = pipe.Dial
		room := p.PrivateChat(p.AddUser("Ann"))
		test(p, chat.Ref{Key: chat.FeishuChat(room), ID: p.Say(room, p.Users()[0], "write a book")})
		p.clean()
		transport.CloseIdleConnections()
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
	})
}

// book is a text of all that makes cards hard. Each of its lines has a number, such as (00012).
func book() string {
	var b strings.Builder
	n := 0
	number := func() string { n++; return fmt.Sprintf("(%05d)", n) }
	table := func() {
		fmt.Fprintf(&b, "\n| 名称 %s | value |\n|:---|---:|\n", number())
		for range 12 {
			fmt.Fprintf(&b, "| 第 %s 行 | `x|y` <at id=all></at> |\n", number())
		}
		b.WriteString("\n")
	}
	code := func(fence string) {
		fmt.Fprintf(&b, "%sgo\n", fence)
		for i := range 300 {
			fmt.Fprintf(&b, "\tline%s(%d)\n", number(), i)
			if i%20 == 0 {
				b.WriteString("\t// <at id=all></at> | a | ![x](https://x/y.png) | ~~~ |\n|---|---|\n")
			}
		}
		b.WriteString(fence + "\n\n")
	}
	words := func() {
		fmt.Fprintf(&b, "## 第 %s 节\n\n", number())
		for range 5 {
			fmt.Fprintf(&b, "%s 一段文字，里面有 **粗体**、<b>HTML</b>、<at id=all>所有人</at>、&lt;at id=all&gt;、\\<at id=all>、![图](https://example.com/%d.png) 和 `行内 <at user_id=\"all\">`。"+
				"这一段说的是同一件事，只是说得更长一些，好让卡片写满。\n\n", number(), n)
		}
		fmt.Fprintf(&b, "- [ ] 待办 %s\n- [x] 完成 %s\n\n<details><summary>%s</summary>\n<img src=x onerror=alert(1)>\n</details>\n\n", number(), number(), number())
	}
	for i := range 30 {
		words()
		table()
		if i%5 == 1 {
			table() // right after another
		}
		if i%5 == 2 || i%5 == 4 {
			code([]string{"```", "~~~", "````"}[i%3])
		}
		if i%10 == 7 {
			fmt.Fprintf(&b, "> 引用 %s\n> ```\n> 引用里的代码 %s\n\n", number(), number())
		}
	}
	b.WriteString("```python\nprint('" + number() + "')\n") // it is never closed
	return b.String()
}

var numbered = regexp.MustCompile(`\(\d{5}\)`)

// head is the first line of a table of the book: the next page repeats it when the table goes on there.
var head = regexp.MustCompile(`(?m)^\| 名称 (\(\d{5}\)).*$`)

// checkRead fails when the people in the chat cannot read all lines of the text, each once, in order.
func (p *platform) checkRead(ask chat.Ref, text string) {
	p.t.Helper()
	heads, seen := head.FindAllStringSubmatch(text, -1), map[string]bool{}
	var got []string
	for _, m := range p.answers(ask.Key.ID) {
		for _, n := range numbered.FindAllString(m.Text(), -1) {
			isHead := slices.ContainsFunc(heads, func(h []string) bool { return h[1] == n })
			if !isHead || !seen[n] {
				got = append(got, n)
			}
			seen[n] = true
		}
	}
	want := numbered.FindAllString(text, -1)
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			p.t.Fatalf("of %d lines %d can be read; they differ at %d: %q, want %q", len(want), len(got), i,
				got[min(i, len(got)):min(i+3, len(got))], want[min(i, len(want)):min(i+3, len(want))])
		}
	}
}

// checkAges fails when a card was streamed to for 8 minutes or seems to go on.
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

// grow streams a text in so many pieces.
func (p *platform) grow(ask chat.Ref, text string, pieces int, every time.Duration) {
	p.t.Helper()
	ctx := p.t.Context()
	card := chat.Card{Live: true, Status: "on it", Panels: []chat.Panel{{Title: "steps", Body: "- one"}}, Buttons: []chat.Button{{Label: "Stop", Action: chat.Action{Do: "stop"}}}}
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

func TestABookIsStreamedForTwentyMinutes(t *testing.T) {
	text := book()
	if n := utf8.RuneCountInString(text); n < 120_000 || strings.Count(text, "|:---|") < 30 {
		t.Fatalf("%d letters", n)
	}
	inFakeTime(t, func(p *platform, ask chat.Ref) {
		p.grow(ask, text, 1200, time.Second)
		p.checkRead(ask, text)
		p.checkAges(ask, 8*time.Minute)
		p.t.Logf("%d letters on %d cards in %d calls", utf8.RuneCountInString(text), len(p.answers(ask.Key.ID)), len(p.Calls()))
	})
}

func TestASlowAnswerGoesOnBeforeItsCardIsOld(t *testing.T) {
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
		p.says(ask, "done")
	})
}
