package text_test

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"magpie/internal/text"
)

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"":                               "",
		"plain\n\ttext 字":                "plain\n\ttext 字",
		"\x1b[31mred\x1b[0m":             "red",
		"\x1b[1;38;5;208mbold\x1b[m, no": "bold, no",
		"a\x1b[38:2::1:2:3mb":            "ab",
		"\x1b[?25lhidden\x1b[?25h":       "hidden",
		"\x1b]8;;https://a.example\x1b\\link\x1b]8;;\x1b\\ end": "link end",
		"\x1b]8;;https://a.example\alink\x1b]8;;\a end":         "link end",
		"\x1b]0;title\atext":                      "text",
		"\x1b]0;cut off\nnext":                    "\nnext",
		"\x1b]0;cut \x1b[31mred":                  "red",
		"\x1bPq#0;2;0;0;0\x1b\\after":             "after",
		"\x1b_G123\x1b\\after\x1b^x\x1b\\.":       "after.",
		"\x1b(Bascii\x1b)0\x1b=\x1b7\x1b8":        "ascii",
		"\x1bcreset\x1bM":                         "reset",
		"cut \x1b":                                "cut ",
		"cut \x1b[":                               "cut ",
		"cut \x1b[3":                              "cut ",
		"cut \x1b[38;5":                           "cut ",
		"cut \x1b]8;;https://a.ex":                "cut ",
		"cut \x1b[3\nnext":                        "cut \nnext",
		"\x1b字":                                   "字",
		"\u009b31mred\u009b0m":                    "red",
		"\u009d8;;https://a.example\u009clink":    "link",
		"\u0090q\u009cafter\u0085":                "after",
		"a\x00b\x07c\x7fd\x0e\x0f":                "abcd",
		"N\bNA\bAM\bME\bE":                        "NAME",
		"_\bx":                                    "x",
		"字\b\b\b.":                                ".",
		" 10%\r 50%\r100%\ndone":                  "100%\ndone",
		" 10%\r 50%\r100%\r\ndone":                "100%\ndone",
		" 10%\r":                                  " 10%",
		"a\r\nb\r\r\nc\n":                         "a\nb\nc\n",
		"\x1b[2K\x1b[1G50%\x1b[2K\x1b[1G100%":     "100%",
		"50%\x1b[G100%\x1b[K":                     "100%",
		"above\n50%\x1b[2Knew":                    "above\nnew",
		"a\fb\vc":                                 "a\nb\nc",
		"\x1b[01;31m\x1b[Ksk-ant\x1b[m\x1b[K-api": "sk-ant-api",
	} {
		if got := text.Plain(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestPlainHasNoControls(t *testing.T) {
	piece := rapid.OneOf(rapid.StringN(0, 6, -1), rapid.SampledFrom([]string{
		"\x1b", "\x1b[", "\x1b]", "\x1b\\", "\u009b", "\u009d", "\u009c", "\a", "\r", "\n", "\b", "31m", "2K", "G", "8;;", "\x1bP", "\xff", "字",
	}))
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), "")
		out := text.Plain(in)
		if i := strings.IndexFunc(out, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }); i >= 0 {
			t.Fatalf("%q became %q", in, out)
		}
		if again := text.Plain(out); again != out {
			t.Fatalf("%q became %q, and then %q", in, out, again)
		}
	})
}
