package contextmgr

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"magpie/internal/chat"
	"magpie/internal/racetest"
)

func TestTruncateKeepsTheBudgetInGroupsAndWithEscapes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Limits{MaxTokens: rapid.IntRange(minTokens, 5000).Draw(t, "budget")}
		msgs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) chat.Message {
			piece := rapid.SampledFrom([]string{"字", "word ", "x.y(z)\n", "\n---", "-\r", "😀", "👨‍👩‍👧", "🇨🇳",
				"123 ", "e\u0301", " ", "\n", "\xff"}).Draw(t, "piece")
			m := user(strings.Repeat(piece, rapid.IntRange(1, 4000).Draw(t, "times")))
			m.Actor.Name = strings.Repeat(rapid.SampledFrom([]string{"", "名", "😀"}).Draw(t, "name"), 50)
			return m
		}), 1, 8).Draw(t, "messages")
		before := slices.Clone(msgs)
		got := truncate(msgs, l)
		if diff := cmp.Diff(before, msgs); diff != "" {
			t.Fatalf("truncate changed its input: %s", diff)
		}
		if len(got) == 0 {
			t.Fatal("nothing left")
		}
		for _, kind := range []chat.Kind{chat.Private, chat.Group} {
			if n := EstimateTokens(Prefix(Context{History: got}, kind, "")); n > l.MaxTokens {
				t.Fatalf("%s: %d tokens in a budget of %d", kind, n, l.MaxTokens)
			}
		}
		if again := truncate(got, l); !cmp.Equal(got, again) {
			t.Fatal("a context within the budget was truncated")
		}
		for i, m := range got {
			original := msgs[len(msgs)-len(got)+i].Text
			if m.Text != original && (!strings.Contains(m.Text, "此处省略") || !utf8.ValidString(m.Text)) {
				t.Fatalf("message %d became %.60q", i, m.Text)
			}
		}
	})
}

func TestSelectGoesOnAfterAHugeMessage(t *testing.T) {
	l := Defaults().Limits()
	msgs := append(talk(5, 10, 10), user(strings.Repeat("字", 40_000)))
	pulled := 0
	got, err := selectRecent(backwards(msgs, &pulled), l)
	if err != nil || len(got) != 5 {
		t.Fatalf("%d messages, want the huge one and two more rounds (%v)", len(got), err)
	}
	if fitted := truncate(got, l); len(fitted) != 5 {
		t.Errorf("%d of 5 messages remain", len(fitted))
	}
}

func TestCutNeverSplitsACharacter(t *testing.T) {
	racetest.Skip(t)
	for _, char := range []string{"🇨🇳", "👨‍👩‍👧‍👦", "e\u0301", "👍🏽", "❤\ufe0f", "字", "\r\n"} {
		for most := 60; most < 900; most += 7 {
			text := omitMiddle(strings.Repeat(char, 5000), most, "zh")
			start, end, ok := strings.Cut(text, "\n…（")
			_, end, ok2 := strings.Cut(end, "）…\n")
			if !ok || !ok2 || strings.Trim(start, char) != "" || strings.Trim(end, char) != "" {
				t.Fatalf("%q: no mark in %q", char, text)
			}
			if start != strings.Repeat(char, len(start)/len(char)) || end != strings.Repeat(char, len(end)/len(char)) {
				t.Errorf("%q was cut: %q", char, text)
			}
		}
	}
}

func TestEstimateByClass(t *testing.T) {
	for text, want := range map[string]int{
		"？！：；，。、": 6, "“好”……": 5, "·": 1,
		strings.Repeat("汉", 100): 98, strings.Repeat("かな", 50): 100, strings.Repeat("ไทย", 30): 90,
		"camelCaseWord": 3, "internationalization": 4, "1234567890": 6, "a  b\n": 4, "😀": 3, "👨‍👩‍👧": 13,
		strings.Repeat("ы", 100): 50,
	} {
		if got := EstimateTokens(text); got < want-1 || got > want+1 {
			t.Errorf("EstimateTokens(%.20q) = %d, want about %d", text, got, want)
		}
	}
	if n := testing.AllocsPerRun(10, func() { EstimateTokens("鹊桥 bridge 123 😀\n") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkSelect(b *testing.B) {
	msgs := talk(5000, 100, 900)
	for b.Loop() {
		pulled := 0
		if _, err := selectRecent(backwards(msgs, &pulled), Defaults().Limits()); err != nil {
			b.Fatal(err)
		}
	}
}
