package redact

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// grown feeds a text byte by byte, or rather character by character, and returns all that was shown.
func grown(text string, p Policy) (shown []string) {
	var g Growing
	for i := range text {
		var now string
		now, g = g.Next(text[:i], p)
		shown = append(shown, now)
	}
	last, _ := g.Next(text, p)
	return append(shown, last)
}

// However a text is split, no half of a key is shown on the way.
func TestNoHalfOfAKeyIsShown(t *testing.T) {
	const most = 11 // the first bytes of a key may be those of anything
	for _, marked := range keysGo {
		if strings.Contains(marked, "…") {
			continue
		}
		for _, around := range []string{"%", "看：%", "a line\n\nand\n%", "one\npassword: x1y2z3\n%\nand more\n"} {
			if around == "看：%" && marked[0] == '|' { // then it is no row of a table
				continue
			}
			for part := range strings.SplitSeq(marked, "〉") {
				_, secret, found := strings.Cut(part, "〈")
				if !found {
					continue
				}
				for _, public := range append(publicWords(), discord[:strings.IndexByte(discord, '.')+1]) {
					secret = strings.TrimPrefix(secret, public)
				}
				text := strings.ReplaceAll(around, "%", strings.NewReplacer("〈", "", "〉", "").Replace(marked))
				n := min(len(secret), 4)
				if lead := len(secret); lead > 20 {
					n = most
				}
				if strings.Count(text, secret[:n]) > 1 { // also what is around it begins like that
					continue
				}
				for _, shown := range grown(text, Keys) {
					if strings.Contains(shown, secret[:n]) && !allShown(text, secret, shown, n) {
						t.Fatalf("%q shows a part of %q: %q", text, secret, shown)
					}
				}
			}
		}
	}
}

// publicWords are the words by which keys are known, which everybody knows.
func publicWords() (all []string) {
	for _, k := range keys {
		all = append(all, strings.Fields(k.leads)...)
	}
	return all
}

// allShown reports whether the beginning of a secret is in what is shown only because of what stands before it.
func allShown(text, secret, shown string, n int) bool {
	i := strings.Index(shown, secret[:n])
	return i < strings.Index(text, secret) && !strings.Contains(shown[i+1:], secret[:n])
}

// What is shown of an ordinary text is all of it, but for a word that may be the beginning of a key.
func TestOrdinaryTextIsShownAtOnce(t *testing.T) {
	for _, text := range []string{
		"", "Hello", "Hello world", "half an answ", "你好，世界", "see https://a.example/path", "the path", "an app", "built-in", "the key", "SKU 12",
		"version 1.2", "a\nb\n", "```go\nfunc main() {", "| a | b", "Go 1.26", "disk-usage", "what is a password", "password", "token:",
		"step 12 of 24", "foo@example.com", "2026-11-28", "12345678901234", "commit 1234abc",
	} {
		if got, _ := (Growing{}).Next(text, Keys); got != text {
			t.Errorf("of %q only %q is shown", text, got)
		}
	}
}

// In the end a text that has grown is redacted like one that came at once.
func TestATextThatGrowsBecomesTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(talk(), 1, 6).Draw(t, "lines"), "\n")
		whole := Text(text, Keys)
		var g Growing
		for at := 0; at < len(text); {
			at = min(len(text), at+rapid.IntRange(1, 60).Draw(t, "more"))
			var shown string
			shown, g = g.Next(text[:at], Keys)
			if !strings.HasPrefix(whole, g.clean) {
				t.Fatalf("%q became %q, and was settled as %q", text, whole, g.clean)
			}
			if !strings.HasPrefix(shown, g.clean) {
				t.Fatalf("%q is settled, but %q shown", g.clean, shown)
			}
		}
		rest := Text(text[len(g.settled):], Keys)
		if g.clean+rest != whole {
			t.Fatalf("%q became %q at once, and %q piece by piece", text, whole, g.clean+rest)
		}
	})
}

// A text that grows is read once, and not again with each of its lines.
func TestATextThatGrowsIsReadOnce(t *testing.T) {
	for name, paragraph := range map[string]string{
		"prose": "It reads the file.\n\n它读取文件。\n", "code": "```go\ntoken, err := cfg.Token(ctx)\n```\n",
		"keys": "password: hunter2\nxai-" + body(40) + "\n", "labels": "密码：\nabc123\n\n", "private keys": pem("RSA PRIVATE KEY", "\n") + "\n",
	} {
		text, read := strings.Repeat(paragraph, 40_000/len(paragraph)), 0
		var g Growing
		for n := 0; n < len(text); n += 100 {
			now := strings.ToValidUTF8(text[:n], "")
			read += len(now) - len(g.settled)
			_, g = g.Next(now, Keys)
		}
		if read > 6*len(text) {
			t.Errorf("%s: %d KB read for a text of %d", name, read>>10, len(text)>>10)
		}
	}
}
