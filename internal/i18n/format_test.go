package i18n

import "testing"

func TestFigures(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1.0k", 34_512: "34.5k", 999_949: "999.9k",
		999_950: "1.0M", 2_340_000: "2.3M"} {
		if got := Count(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	for usd, want := range map[float64]string{0: "$0.00", 0.0042: "$0.0042", 0.0895: "$0.09", 12.5: "$12.50"} {
		if got := USD(usd, English); got != want {
			t.Errorf("%v: %s, want %s", usd, got, want)
		}
	}
}

func TestAnExcerptIsOneLineInItsOwnDirection(t *testing.T) {
	if got, want := Excerpt("a\u202Eb\n\u2067c\u2069 \x07d👨\u200D👧", 20), "a b c d👨\u200D👧"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The word for tokens has a plural in English only.
func TestTokens(t *testing.T) {
	for _, tc := range []struct {
		n    int64
		l    Lang
		want string
	}{{1, English, "1 token"}, {0, English, "0 tokens"}, {1200, English, "1.2k tokens"}, {1200, Chinese, "1.2k token"}} {
		if got := Tokens(tc.n, tc.l); got != tc.want {
			t.Errorf("%d: %q, want %q", tc.n, got, tc.want)
		}
	}
}

func TestTheFirstLineIsWithoutMarkup(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"**Today**: $2.00 · `go test`\n- more": "Today: $2.00 · go test",
		"\n# A heading\nand words":             "A heading",
		"2 ** 3 and 4 * 5, #7":                 "2 ** 3 and 4 * 5, #7",
		"snake_case, a `lone mark":             "snake_case, a `lone mark",
	} {
		if got := FirstLine(given); got != want {
			t.Errorf("%q becomes %q, want %q", given, got, want)
		}
	}
}
