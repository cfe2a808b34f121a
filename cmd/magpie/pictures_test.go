package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"image/png"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"magpie/internal/chat"
	"magpie/internal/console"
	"magpie/internal/console/consoletest"
	"magpie/internal/feishusim"
)

var makePictures = flag.Bool("pictures", false, "take the stale pictures of docs/cards again")

// pictures are the golden cards of the bridge that docs/cards shows, with their questions.
var pictures = []struct{ card, question, unfold string }{
	{"07-writing", "帮我看看测试为什么不通过", ""},
	{"08-writing-en", "Why do the tests fail?", ""},
	{"12-bash-12s", "帮我看看测试为什么不通过", "details"},
	{"13-bash-12s-en", "Why do the tests fail?", "details"},
	{"17-tool-failed", "编译一下", "details"},
	{"79-tool-failed-en", "Build it", "details"},
	{"19-edit-as-diff", "把 b 改成大写，删掉 x", "details"},
	{"80-edit-as-diff-en", "Write b as a capital, and delete x", "details"},
	{"29-waiting-with-choice", "清理一下构建产物", ""},
	{"83-waiting-with-choice-en", "Clean up what was built", ""},
	{"28-waiting-with-form", "清理一下构建产物", ""},
	{"82-waiting-with-form-en", "Clean up what was built", ""},
	{"31-done", "帮我看看测试为什么不通过", ""},
	{"32-done-en", "Why do the tests fail?", "details"},
	{"33-done-restored", "我叫什么名字？", ""},
	{"34-done-restored-en", "What is my name?", ""},
	{"38-interrupted", "数到三", ""},
	{"81-interrupted-en", "Count to three", ""},
	{"61-cost-day", "/cost", ""},
	{"62-cost-week-en", "/cost week", ""},
}

// widths are the screen widths of the pictures.
var widths = map[string]struct {
	pixels int64
	scale  float64
}{"phone": {390, 2}, "desktop": {860, 1}}

// maxBytes is the largest size of a picture.
const maxBytes = 200 << 10

func pictureFile(card, width string) string {
	return filepath.Join("..", "..", "docs", "cards", card+"-"+width+".png")
}

// The pictures exist and are small. With -pictures the stale ones are taken again, from the playground's page in a real
// browser.
func TestPicturesOfCards(t *testing.T) {
	if *makePictures {
		noted, now := recordedSums(t, pictureSums), currentSums(t)
		takePictures(t, func(card string) bool { return noted[card] != now[card] })
		recordSums(t, pictureSums, now)
	}
	for _, p := range pictures {
		for width, screen := range widths {
			data, err := os.ReadFile(pictureFile(p.card, width))
			if err != nil {
				t.Error(err)
				continue
			}
			head, err := png.DecodeConfig(bytes.NewReader(data))
			if err != nil || int64(head.Width) > int64(float64(screen.pixels)*screen.scale) || head.Width < 300 ||
				len(data) > maxBytes {
				t.Errorf("%s at %s: %d x %d in %d bytes, %v", p.card, width, head.Width, head.Height, len(data), err)
			}
		}
	}
}

// shownCard finds the pictures of cards that a page shows.
var shownCard = regexp.MustCompile(`cards/([\w-]+)-(?:phone|desktop)\.png`)

// A page shows pictures of cards in its own language, and only those that exist.
func TestPicturesOfCardsSpeakTheLanguageOfTheirPage(t *testing.T) {
	t.Parallel()
	for name, least := range map[string]int{"README": 3, "docs/cards": 20} {
		for end, english := range map[string]bool{".md": true, ".zh.md": false} {
			text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)+end))
			if err != nil {
				t.Fatal(err)
			}
			shown := shownCard.FindAllStringSubmatch(string(text), -1)
			if len(shown) < least {
				t.Errorf("%s%s shows %d pictures of cards", name, end, len(shown))
			}
			for _, m := range shown {
				if strings.HasSuffix(m[1], "-en") != english {
					t.Errorf("%s%s shows the card %s, which speaks the other language", name, end, m[1])
				}
				for width := range widths {
					if _, err := os.Stat(pictureFile(m[1], width)); err != nil {
						t.Errorf("%s%s: %v", name, end, err)
					}
				}
			}
		}
	}
}

// takePictures takes the pictures of the wanted cards.
func takePictures(t *testing.T, wanted func(card string) bool) {
	sim, err := feishusim.Start(feishusim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sim.Close() })
	client := clientOf(sim)
	site := httptest.NewServer(console.NewPlayground(console.PlaygroundConfig{Sim: sim, Simulated: true}))
	t.Cleanup(site.Close)
	b := consoletest.Browse(t, site.URL)
	b.Until(`document.querySelector('#chat-1[aria-current=true]')`)
	for i, rule := range []string{
		"header, #chats, #context, #chips, #form, .talk-head { display: none !important }",
		"main { display: block !important }",
		"html, body, .talk, #messages { height: auto !important; overflow: visible !important }",
		".message { display: none }", ".message.pictured { display: flex }",
	} {
		b.Eval(fmt.Sprintf("document.styleSheets[0].insertRule(%q, document.styleSheets[0].cssRules.length) * %d",
			rule, i))
	}
	for _, p := range pictures {
		if !wanted(p.card) {
			continue
		}
		person, page := sim.Users()[0], "zh-CN"
		if strings.HasSuffix(p.card, "-en") {
			person, page = sim.Users()[2], "en"
		}
		if b.Eval(`document.documentElement.lang`) != page {
			b.Eval(fmt.Sprintf(`[...document.querySelectorAll('.chat')].find(c => c.dataset.chat === %q).click()`,
				sim.PrivateChat(person)))
			b.Eval(`document.querySelector('#lang').click()`)
		}
		room := sim.PrivateChat(person)
		ask := sim.Say(room, person, p.question)
		id, err := client.Post(t.Context(), chat.Ref{Key: chat.FeishuChat(room), ID: ask}, golden(t, p.card), p.card)
		if err != nil {
			t.Fatal(err)
		}
		card, _, _ := strings.Cut(id, "/")
		b.Until(fmt.Sprintf(`document.querySelector('[data-id=%q] .card')`, card))
		b.Eval(fmt.Sprintf(`document.querySelectorAll('.message')
			.forEach(m => m.classList.toggle('pictured', [%q, %q].includes(m.dataset.id)))`, ask, card))
		if p.unfold != "" {
			b.Eval(fmt.Sprintf(`document.querySelector('[data-id=%q] %s').open = true`, card, p.unfold))
		}
		for width, screen := range widths {
			b.Do(chromedp.EmulateViewport(screen.pixels, 700, chromedp.EmulateScale(screen.scale)))
			if err := os.WriteFile(pictureFile(p.card, width), b.Picture("#messages"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_ = client.Close(t.Context(), id, chat.Card{Body: "."}) // no card may stay in streaming mode
	}
	b.RefuteComplaints()
}

// golden reads a card of the bridge's golden files. There a text of several lines is a list of lines.
func golden(t *testing.T, name string) chat.Card {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "bridge", "testdata", "cards", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	// the reply to a command is stored with its chat
	if reply, ok := tree["Card"].(map[string]any); ok {
		tree = reply
	}
	var c chat.Card
	if err := json.Unmarshal(mustJSON(joined(tree)), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func joined(node any) any {
	switch n := node.(type) {
	case []any:
		var lines []string
		for i, x := range n {
			n[i] = joined(x)
			if s, ok := n[i].(string); ok {
				lines = append(lines, s)
			}
		}
		if len(lines) == len(n) {
			return strings.Join(lines, "\n")
		}
	case map[string]any:
		for k, x := range n {
			n[k] = joined(x)
		}
	}
	return node
}
