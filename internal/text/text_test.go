package text

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"pgregory.net/rapid"
)

var pieces = []string{
	"a", "字", " ", "\n", "\r\n", "😀", "👨‍👩‍👧", "👍🏽", "🇨🇳", "🇩🇪", "🇨", "e\u0301", "❤\ufe0f", "1\ufe0f\u20e3",
	"🏴\U000E0067\U000E0062\U000E007F", "각", "\u1112\u1161\u11ab", "क्\u200dष", "\u1019\u102c", "\u0600", "\u200d",
}

// Wherever text is cut, Unicode has a boundary, too.
func TestBoundariesAreThoseOfUnicode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 12).Draw(t, "s"), "")
		ends := []int{0, len(s)}
		for g := uniseg.NewGraphemes(s); g.Next(); {
			_, end := g.Positions()
			ends = append(ends, end)
		}
		at := 0
		for i := range s {
			is := IsBoundary(s, i)
			if is && !slices.Contains(ends, i) {
				t.Errorf("%q is cut at %d", s, i)
			}
			if runes := []rune(s); is != (Border(runes, at, 1) == at) {
				t.Errorf("%q: as runes the boundary at %d differs", s, i)
			}
			if IsBoundary(s[:i+1], i) != is && i > 0 && s[i] < utf8.RuneSelf {
				t.Errorf("%q: the boundary at %d depends on later text", s, i)
			}
			at++
		}
	})
}

// No cut divides flags, line ends, or the parts of a Korean syllable. Sequences that Unicode would divide but were kept
// together before are still kept together.
func TestNoCharacterIsDivided(t *testing.T) {
	for _, char := range []string{
		"🇨🇳", "👨‍👩‍👧‍👦", "e\u0301", "👍🏽", "❤\ufe0f", "字", "\r\n", "\u1112\u1161\u11ab", "क्\u200dष", "\u1019\u102c",
		"🏴\U000E0067\U000E0062\U000E007F",
	} {
		s := strings.Repeat(char, 100)
		runes := []rune(s)
		for i := range runes {
			for _, step := range []int{-1, 1} {
				if at := Border(runes, i, step); (at-i)*step < 0 || len(string(runes[:at]))%len(char) != 0 {
					t.Fatalf("%q: %d became %d", char, i, at)
				}
			}
			if got := Shorten(s, i+1); i+1 < len(runes) && strings.Trim(got, char) != "…" {
				t.Fatalf("%q in %d runes: %q", char, i+1, got)
			}
		}
	}
}

func TestTheSearchForABoundaryIsBounded(t *testing.T) {
	runes := []rune("a" + strings.Repeat("\u0301", 1000))
	if at := Border(runes, 500, -1); at != 500 {
		t.Errorf("500 became %d", at)
	}
	if at := Border(runes, 5, -1); at != 0 {
		t.Errorf("5 became %d", at)
	}
}

func TestShorten(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "abcd": "abcd", "abcde": "abc…", "字字字字": "字字字字", "字字字字字": "字字字…", "ab👍🏽c": "ab…", "👍🏽👍🏽": "👍🏽👍🏽",
	} {
		if got := Shorten(in, 4); got != want {
			t.Errorf("Shorten(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestClip(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "abcdefgh": "abcdefgh", "abcdefghi": "abcde…", "字字字字": "字…",
		"\x80\x80\x80\x80\x80\x80\x80\x80\x80": "…",
	} {
		if got := Clip(in, 8); got != want {
			t.Errorf("Clip(%q) = %q, want %q", in, got, want)
		}
	}
	if got := Prefix("字", 0); got != "" {
		t.Errorf("zero bytes contain %q", got)
	}
}

func TestOneLine(t *testing.T) {
	if got := OneLine(" a \t b\r\n\n字 "); got != "a b 字" {
		t.Errorf("%q", got)
	}
}

// Nothing is cut inside a mark of redaction.
func TestMarksOfRedactionStayWhole(t *testing.T) {
	const s = "call [REDACTED_PHONE] or [x] now"
	for most, want := range map[int]string{
		8: "call …", 16: "call …", 20: "call …", 22: "call [REDACTED_PHONE]…", 27: "call [REDACTED_PHONE] or […", 40: s,
	} {
		if got := Shorten(s, most); got != want {
			t.Errorf("at %d: %q, want %q", most, got, want)
		}
	}
}
