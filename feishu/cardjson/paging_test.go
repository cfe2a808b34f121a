package cardjson

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"magpie/internal/chat"
)

func bodies(pages []page) []string {
	var out []string
	for _, p := range pages {
		out = append(out, p.render())
	}
	return out
}

func TestShortTextIsOnePage(t *testing.T) {
	for _, s := range []string{"", "a", "a\n\nb\n", "```go\nx"} {
		if got := Split(s); len(got) != 1 || got[0] != s {
			t.Errorf("split(%q) = %q", s, got)
		}
	}
}

func TestPagesEndAfterParagraphs(t *testing.T) {
	text := strings.Repeat("one two three four five\nsix seven\n\n", 10)
	for i, p := range bodies(splitAfter("", text, 120)) {
		if !strings.HasPrefix(p, "one") || !strings.HasSuffix(p, "seven\n\n") {
			t.Errorf("page %d: %q", i, p)
		}
	}
}

// A line that is longer than a page is broken where a reader would pause, not in a word.
func TestALongLineIsBrokenAfterASentence(t *testing.T) {
	for name, tc := range map[string]struct{ text, ends string }{
		"sentences":             {strings.Repeat("喜鹊在银河上搭桥。", 60), "。"},
		"quoted sentences":      {strings.Repeat("他说：“喜鹊来了！”", 60), "”"},
		"sentences in English":  {strings.Repeat("The magpies build a bridge, now. ", 40), ". "},
		"clauses":               {strings.Repeat("喜鹊在银河上搭桥，", 60), "，"},
		"clauses in English":    {strings.Repeat("the magpies build, ", 40), ", "},
		"words":                 {strings.Repeat("magpies ", 100), " "},
		"a file and a number":   {strings.Repeat("main.go 3.14 ", 80), " "},
		"a sentence in a quote": {strings.Repeat("He said \"they came.\" Then ", 40), "\" "},
	} {
		pages := bodies(splitAfter("", tc.text, 400))
		if len(pages) < 2 {
			t.Fatalf("%s: %d pages", name, len(pages))
		}
		for _, p := range pages[:len(pages)-1] {
			if !strings.HasSuffix(p, tc.ends) || len(p) < 200 {
				t.Errorf("%s: a page ends with %q after %d bytes", name, p[len(p)-12:], len(p))
			}
		}
	}
}

func TestCodeGoesOnWithItsLanguage(t *testing.T) {
	text := "```go\n" + strings.Repeat("x := 1\n", 20) + "```\nend"
	pages := bodies(splitAfter("", text, 100))
	for i, p := range pages {
		if !strings.HasPrefix(p, "```go\n") {
			t.Errorf("page %d begins %q", i, p)
		}
		if i < len(pages)-1 && !strings.HasSuffix(p, "x := 1\n```\n") {
			t.Errorf("page %d ends %q", i, p)
		}
	}
}

func TestATableContinuesWithItsHeader(t *testing.T) {
	head := "| a | b |\n|---|---|\n"
	pages := bodies(splitAfter("", "words\n\n"+head+strings.Repeat("| 1 | 2 |\n", 30), 150))
	if len(pages) < 3 {
		t.Fatalf("%d pages", len(pages))
	}
	for i, p := range pages[1:] {
		if !strings.HasPrefix(p, head+"| 1 |") {
			t.Errorf("page %d begins %q", i+1, p)
		}
	}
}

func TestAHeadingStaysWithItsText(t *testing.T) {
	for size := 60; size < 120; size++ {
		for _, p := range bodies(splitAfter("",
			"some words\n\nmore words\nand more\n| a | b |\n|---|---|\n| 1 | 2 |\n| 1 | 2 |\n| 1 | 2 |\n", size)) {
			if strings.HasSuffix(p, "| a | b |\n") || strings.HasPrefix(p, "|---") {
				t.Errorf("size %d: %q", size, p)
			}
		}
	}
}

func TestFourthTableIsOnTheNextPage(t *testing.T) {
	pages := Split(strings.Repeat("text\n\n"+table+"\n", 7))
	if len(pages) != 3 {
		t.Fatalf("%d pages: %q", len(pages), pages)
	}
	for i, p := range pages {
		if n := strings.Count(p, "|---|---|"); n > maxTables {
			t.Errorf("page %d has %d tables", i, n)
		}
	}
}

func TestCharactersStayWhole(t *testing.T) {
	family := "👩‍👩‍👧‍👦"
	for size := 40; size < 90; size++ {
		for _, p := range bodies(splitAfter("", strings.Repeat(family, 20), size)) {
			if !utf8.ValidString(p) || strings.ReplaceAll(p, family, "") != "" {
				t.Fatalf("size %d: %q", size, p)
			}
		}
	}
}

func TestSplitLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := markdownText().Draw(t, "text")
		size := rapid.IntRange(60, 600).Draw(t, "size")
		var joined strings.Builder
		for _, p := range splitAfter("", text, size) {
			joined.WriteString(p.text)
			if cost(p.carry+p.text) > size+32 {
				t.Fatalf("page of %d, more than %d: %q", cost(p.carry+p.text), size, p)
			}
			checkSafe(t, p.carry+p.text+p.tail)
		}
		if joined.String() != text {
			t.Fatalf("split and joined again: %q, want %q", joined.String(), text)
		}
	})
}

func TestALayoutIsThatOfTheWholeText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l Layout
		text := ""
		for range rapid.IntRange(1, 8).Draw(t, "pieces") {
			piece := strings.Repeat(markdownText().Draw(t, "piece")+"\n", rapid.IntRange(1, 400).Draw(t, "times"))
			text += piece[:min(len(piece), 9000)]
			if rapid.IntRange(0, 5).Draw(t, "anew") == 0 {
				text = "other " + text[min(len(text), 5000):]
			}
			text = strings.ToValidUTF8(text, "")
			if got, want := l.Pages(text), Split(text); !slices.Equal(got, want) {
				t.Fatalf("%d pages, want %d, of %.3000q", len(got), len(want), text)
			}
		}
	})
}

func TestALayoutThatIsTurnedLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l Layout
		text := ""
		for range rapid.IntRange(1, 6).Draw(t, "pieces") {
			text += markdownText().Draw(t, "piece")
			before := slices.Clone(l.Pages(text))
			if rapid.Bool().Draw(t, "turn") {
				l.EndPage()
			}
			after := l.Pages(text)
			if l.fullText+l.last.text != text {
				t.Fatalf("%q and %q, want %q", l.fullText, l.last.text, text)
			}
			if n := len(before) - 1; !slices.Equal(after[:n], before[:n]) {
				t.Fatalf("full pages changed: %q to %q", before, after)
			}
			for _, p := range after {
				checkSafe(t, p)
			}
		}
	})
}

func TestATurnKeepsCodeAndTablesWhole(t *testing.T) {
	for text, want := range map[string][]string{
		"one\ntwo\nthr":                 {"one\ntwo\n", "thr"},
		"one\n":                         {"one\n"},
		"one\ntwo\n":                    {"one\n", "two\n"},
		"```go\na\nb":                   {"```go\na\n```\n", "```go\nb"},
		"|a|b|\n|-|-|\n|1|2|\n|3|4|":    {"|a|b|\n|-|-|\n|1|2|\n", "|a|b|\n|-|-|\n|3|4|"},
		"words\n|a|b|\n|-":              {"words\n", "|a|b|\n|-"},
		"one long line that has no end": {"one long line that has no end"},
	} {
		var l Layout
		l.Pages(text)
		l.EndPage()
		if got := l.Pages(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestPageBreaksStayWhileTheTextGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := markdownText().Draw(t, "text")
		size := rapid.IntRange(60, 600).Draw(t, "size")
		end := rapid.IntRange(0, len(text)).Draw(t, "end")
		for end < len(text) && !utf8.RuneStart(text[end]) {
			end++
		}
		before, after := splitAfter("", text[:end], size), splitAfter("", text, size)
		for i, p := range before[:len(before)-1] {
			if i >= len(after) || after[i] != p {
				t.Fatalf("page %d was %q, became %q", i, p, after)
			}
		}
	})
}

// Even a page of the worst possible text makes a card that the platform accepts.
func TestCardsStayBelowTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.OneOf(rapid.StringN(1, 20, -1), markdownText(),
			rapid.SampledFrom([]string{`"`, `\`, "<", "&", "`", "!", "![](", "]:", "[](", "[`](", "\n", "```\n", "\x00", "字", "\u2028",
				"~~~\n```\n"})).Draw(t, "unit")
		text := strings.Repeat(unit, 1+40_000/(len(unit)+1))
		full := chat.Card{
			Live: true, Title: strings.Repeat(`"`, 1000), Status: strings.Repeat(`"`, 1000), Footer: strings.Repeat("<", 2000),
			Summary: strings.Repeat(`\`, 500),
		}
		long := strings.Repeat(unit, 1+500/(len(unit)+1))
		full.Form = &chat.Form{}
		for i := range 10 {
			full.Buttons = append(full.Buttons, chat.Button{
				Label: strings.Repeat(`"`, 100), Action: chat.Action{Do: "approve", Turn: int64(i) << 50},
			})
			full.Panels = append(full.Panels, chat.Panel{Title: long, Body: text})
			field := chat.Field{Name: fmt.Sprint("field", i), Label: long, Hint: long, Kind: chat.Many}
			for n := range 20 {
				field.Options = append(field.Options, chat.Option{Label: long, Value: fmt.Sprint(n)})
			}
			full.Form.Fields = append(full.Form.Fields, field)
		}
		full.Form.Buttons = full.Buttons
		for _, p := range Split(text) {
			full.Body = p
			card := Card(full, true)
			if n := strings.Count(card, `"tag":`); n > 180 {
				t.Fatalf("%d elements", n)
			}
			if body := toJSON(map[string]string{"data": card}); len(card) > 26<<10 || len(body) > 30<<10 {
				t.Fatalf("a card of %d bytes, in a request %d, of %q repeated", len(card), len(body), unit)
			}
		}
	})
}

func BenchmarkSplit(b *testing.B) {
	text := strings.Repeat("Some words in a row, with `code` and <tags>.\n\n```go\nx := 1\n```\n", 1500)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Split(text)
	}
}
