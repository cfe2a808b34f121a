package i18n_test

import (
	"strings"
	"testing"

	"magpie/internal/i18n"
)

// An excerpt is on one line, where a password on the line below its label is no longer known as one.
func TestAnExcerptHoldsNoKey(t *testing.T) {
	key := "xai-" + strings.Repeat("a1G2k3X4", 6)
	for text, want := range map[string]string{
		"密码：\nhunter2\n完":                           "密码： [REDACTED_SECRET] 完",
		"it is " + key + ", you see":                "it is [REDACTED_API_KEY], y…",
		"\x1b[31mred\x1b[0m\n 10%\r done":           "red done",
		strings.Repeat("\n", 4300) + key + " later": "",
	} {
		if got := i18n.Excerpt(text, 26); got != want && got != i18n.Truncate(want, 26) {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
