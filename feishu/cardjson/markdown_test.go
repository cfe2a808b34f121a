package cardjson

import (
	"cmp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
	"pgregory.net/rapid"
)

const table = "| a | b |\n|---|---|\n| 1 | 2 |\n"

func TestSafe(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", "Hello **you**", "Hello **you**"},
		{"everybody is not called", "hi <at id=all></at>", "hi &lt;at id=all>&lt;/at>"},
		{"tags show", "<font color='red'>x</font> 1 < 2", "&lt;font color='red'>x&lt;/font> 1 &lt; 2"},
		{"escaped tag", `\<at id=all>`, "&lt;at id=all>"},
		{"inline code is left", "use `a < b` and `` `<x>` ``", "use `a < b` and `` `<x>` ``"},
		{"no call from code", "`<at id=all>`", "`<" + zwsp + "at id=all>`"},
		{"backtick that opens nothing", "it`s <b>", "it`s &lt;b>"},
		{"escaped backtick", "\\`<b>\\`", "\\`&lt;b>\\`"},
		{"fenced code is left", "```go\nif a < b {}\n```", "```go\nif a < b {}\n```"},
		{"open fence is closed", "```go\nx := 1", "```go\nx := 1\n```"},
		{"tildes", "~~~ py extra\n```\nx\n~~~\ny", "```py\n" + zwsp + "```\nx\n```\ny"},
		{"long fence", "````\n```\nx\n```\n````", "```\n" + zwsp + "```\nx\n" + zwsp + "```\n```"},
		{"fence in a list", "- ```sh\n  ls\n  ```\n- <b>", "-\n```sh\nls\n```\n- &lt;b>"},
		{"indented fence", "  ```\n  a\n    b\n  ```", "```\na\n  b\n```"},
		{"picture", "![a](https://x/y.png)", "[a](https://x/y.png)"},
		{"picture without words", "![](https://x/y.png)", "[图片](https://x/y.png)"},
		{"a picture in a file", "![a](out/y.png), ![](out/y.png)", "a (out/y.png), 图片 (out/y.png)"},
		{"a link", "see [a](https://x/y) and [b](HTTP://x)", "see [a](https://x/y) and [b](HTTP://x)"},
		{"a link to a file", "see [the code](src/a.go:12), [src/b.go](src/b.go).",
			"see the code (src/a.go:12), src/b.go."},
		{"a link in code", "`[a](b.go)` and [`b.go`](b.go)", "`[a](b.go)` and `b.go`"},
		{"a link to a heading", "[Intro](#intro) [x](mailto:a@b.cn)", "Intro x (mailto:a@b.cn)"},
		{"a link with a title", `[a](b.go "the file") [c]( d ) [e](f 'g h') [i](j (k))`, "a (b.go) c (d) e (f) i (j)"},
		{"spaces in a target", "[a](my file.go) [b](<my file.go>) [c](<d> 'e')", "a (my file.go) b (my file.go) c (d)"},
		{"a quoted address", "[a](<https://x/y>) [b](<https://x/y z>)",
			"[a](https://x/y) [b]" + zwsp + "(&lt;https://x/y z>)"},
		{"parentheses in a target", "[a](b(c(d)).go), [e](f\\(.go)", "a (b(c(d)).go), e (f\\(.go)"},
		{"brackets in a link", "[a [b] c](d.go) [e `]` f](g.go)", "a [b] c (d.go) e `]` f (g.go)"},
		{"links in a link", "[a [b](c.go)](https://x) [![d](e.png)](f.go)", "[a b (c.go)](https://x) d (e.png) (f.go)"},
		{"a link without words", "[](a.go) [b]() [](#c) []()", "a.go b #c " + zwsp},
		{"a link that would be more than words", "[```](a)\n[](# b)\n``[`c`](d)`", zwsp + "``` (a)\n" + zwsp + "# b\n``" + zwsp + "`c` (d)`"},
		{"links by name", "see [a][1] and [b]\n\n[1]: src/a.go\n> - [b]: <c>\n[2]: https://x\n[3]:\nd.go",
			"see [a][1] and [b]\n\n[1]" + zwsp + ": src/a.go\n> - [b]" + zwsp + ": &lt;c>\n[2]: https://x\n[3]" + zwsp + ":\nd.go"},
		{"no name of a link", "a[0]: 1", "a[0]: 1"},
		{"a long target", "[a](" + strings.Repeat("b/", 1000) + ")", "a (" + strings.Repeat("b/", 1000) + ")"},
		{"what cannot be read", "[a](b `c`) [d](e", "a (b `c`) [d]" + zwsp + "(e"},
		{"a link over lines", "[a\nb](c.go) [d](\ne.go)", "[a\nb]" + zwsp + "(c.go) [d]" + zwsp + "(\ne.go)"},
		{"code over lines", "a `b\n` [c](d.go) `\n\n`[e](f.go)`",
			"a `b\n` [c]" + zwsp + "(d.go) `\n\n`[e](f.go)`"},
		{"a script", "[a](javascript:alert<1>)", "a (javascript:alert&lt;1>)"},
		{"no link", "a[1](x) [] () [y]", "a1 (x) [] () [y]"},
		{"uploaded picture", "![a](img_v3_0123456789abcdefgh)", "![a](img_v3_0123456789abcdefgh)"},
		{"two bangs", "!![a](b)", "!" + zwsp + "a (b)"},
		{"bang", "Hello!", "Hello!"},
		{"line breaks", "a<br>b<BR />- c `<br>` <br/>[```](d)", "a\nb\n" + zwsp + "- c `<br>` \n" + zwsp + zwsp + "``` (d)"},
		{"line breaks in a table", "| a<br>A | b |\n|---|---|\n| 1<br>2 | x<br/> |\n\nc<br>d",
			"| a · A | b |\n|---|---|\n| 1 · 2 | x|\n\nc\nd"},
		{"line breaks in a table too many", strings.Repeat(table+"\n", 3) + "|a<br>b|\n|-|", strings.Repeat(table+"\n", 3) + "```\n|a · b|\n|-|\n```"},
		{"addresses in angle brackets", "<https://a.example> and <me@a.example>, <mailto:me@a.example>, <b>",
			"[https://a.example](https://a.example) and me@a.example, me@a.example, &lt;b>"},
		{"an address in a link", "[<https://a.example>](https://b.example)", "[https://a.example](https://b.example)"},
		{"an address before Chinese", "see https://a.example/x?y=1。后面", "see [https://a.example/x?y=1](https://a.example/x?y=1)。后面"},
		{"addresses before other signs", "(https://a.example)，https://b.example/c_(d)、**https://e.example**后 https://f.example/",
			"([https://a.example](https://a.example))，[https://b.example/c_(d)](https://b.example/c_%28d%29)、**[https://e.example](https://e.example)**后 https://f.example/"},
		{"addresses that are links already", "[a](https://x/y)。[b。https://x。]( https://x/y )。[1]: https://z。",
			"[a](https://x/y)。[b。https://x。]( https://x/y )。[1]: https://z。"},
		{"an address in code", "`https://a。` xhttps://a。", "`https://a。` xhttps://a。"},
		{"bold before Chinese", "**粗体：**后面的字，前面**“引用”**后面, *斜！*a ~~删。~~b", "**粗体：** 后面的字，前面 **“引用”** 后面, *斜！* a ~~删。~~ b"},
		{"bold with room", "**a**b **c:** d，**e**。2 ** 3 `**f：**g` \\**h：*i", "**a**b **c:** d，**e**。2 ** 3 `**f：**g` \\**h：* i"},
		{"tildes between numbers", "20~25°C, then 30~35°C, ~~no~~ ~/a `~`", "20&#126;25°C, then 30&#126;35°C, ~~no~~ &#126;/a `~`"},
		{"tasks", "- [ ] a\n- [x] b\n1. [X] c\n- [y] d", "- ☐ a\n- ☑ b\n1. ☑ c\n- [y] d"},
		{"windows", "a\r\nb", "a\nb"},
		{"control characters", "a\x1b[31mb\x00", "a[31mb"},
		{"broken text", "a\xffb", "a\uFFFDb"},
		{"three tables", table + "\n" + table + "\n" + table, strings.TrimSuffix(table+"\n"+table+"\n"+table, "\n")},
		{"four tables", table + "\n" + table + "\n" + table + "\n" + table + "end",
			table + "\n" + table + "\n" + table + "\n```\n" + table + "```\nend"},
		{"table in code is none", "```\n" + table + "```", "```\n" + table + "```"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := sanitize(tt.in, maxTables); strings.TrimSuffix(got, "\n") != tt.want {
				t.Errorf("safe(%q)\n got %q\nwant %q", tt.in, got, tt.want)
			}
		})
	}
}

func FuzzSafe(f *testing.F) {
	for _, s := range []string{
		"", "a", "```", "`<at id=all>`", "![a](b)", "!![a](b)", "~~~\n```\n<at id=all>", table + table + table + table,
		"- ```\n<b>", "\\![a](b)", "`a\n`<at>",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) { checkSafe(t, in) })
}

type failer interface {
	Helper()
	Fatalf(string, ...any)
}

// checkSafe parses the output like the strictest reader: only lines that are exactly our fences are fences.
func checkSafe(t failer, in string) {
	t.Helper()
	out := sanitize(in, maxTables)
	if !utf8.ValidString(out) {
		t.Fatalf("safe(%q) = %q is not UTF-8", in, out)
	}
	code, tables, prev := false, 0, ""
	for line := range strings.SplitSeq(out, "\n") {
		if atTag.MatchString(line) {
			t.Fatalf("safe(%q) = %q mentions somebody", in, out)
		}
		switch {
		case strings.HasPrefix(strings.TrimLeft(line, " \t"), "```") &&
			(code || !strings.Contains(strings.TrimLeft(strings.TrimLeft(line, " \t"), "`"), "`")):
			if code && line != "```" {
				t.Fatalf("safe(%q) = %q has a fence inside a fence", in, out)
			}
			code, prev = !code, ""
			continue
		case code:
			continue
		}
		prose := outside(line)
		if strings.Contains(prose, "<") {
			t.Fatalf("safe(%q) = %q has a tag", in, out)
		}
		if i := strings.Index(prose, "!["); i >= 0 && !upload.MatchString(prose[i:]) {
			t.Fatalf("safe(%q) = %q has an image", in, out)
		}
		if tableRow(prev) && tableSeparator(line) {
			tables++
			line = ""
		}
		prev = line
	}
	if link := oddLink(out); link != "" {
		t.Fatalf("safe(%q) = %q has a link to %q", in, out, link)
	}
	if code {
		t.Fatalf("safe(%q) = %q leaves code open", in, out)
	}
	if tables > maxTables {
		t.Fatalf("safe(%q) = %q has %d tables", in, out, tables)
	}
}

// oddLink is the target of a link to something that is no web address, as CommonMark defines it.
func oddLink(md string) (odd string) {
	source := []byte(md)
	_ = ast.Walk(goldmark.DefaultParser().Parse(text.NewReader(source)), func(n ast.Node, _ bool) (ast.WalkStatus, error) {
		target := []byte("https://")
		switch n := n.(type) {
		case *ast.Link:
			target = n.Destination
		case *ast.AutoLink:
			target = n.URL(source)
		}
		if !web.Match(target) {
			odd = cmp.Or(string(target), "nothing")
		}
		return ast.WalkContinue, nil
	})
	return odd
}

// outside is a line without its inline code and escaped characters.
func outside(line string) string {
	var b strings.Builder
	for i := 0; i < len(line); {
		switch {
		case line[i] == '\\' && i+1 < len(line) && (line[i+1] == '`' || line[i+1] == '\\'):
			i += 2
		case line[i] == '`':
			n, _ := codeSpan(line[i:])
			b.WriteByte(' ') // keeps the text on both sides apart
			i += n
		default:
			b.WriteByte(line[i])
			i++
		}
	}
	return b.String()
}

// linkTokens are the parts of all kinds of links, and what prevents links.
var linkTokens = []string{
	"[", "]", "](", ")", "]:", "][", "(", "<", ">", "![", "\\", "`", "``", "\"", "'", " ", "\t", "&lt;", "a", "b.go", "#c", "x:y",
	"https://x", "http:", "mailto:a@b.cn", "[a](b.go)", "[a]: b.go", "[a][1]", "[1]: ", "[b](<c d>)", "[d](https://x)", "> ", "- ",
	"    ", "&#93;", "img_v3_0123456789abcdefgh",
}

// markdownText generates texts with many of the critical parts.
func markdownText() *rapid.Generator[string] {
	line := rapid.OneOf(
		rapid.StringMatching(`[a-c <>!|\[\]()*#-]{0,30}`),
		rapid.SampledFrom([]string{"", "", "```", "```go", "~~~", "````", "| a | b |", "|---|---|", "| 1 | 2 |",
			"- [ ] task", "- ```sh",
			"<at id=all>", "`<at id=all>`", "![a](http://b)", "字字字字字字字字字字", "👩‍👩‍👧‍👦👍🏽é",
			"some words in a row. some words in a row.", "  indented"}),
		rapid.Map(rapid.SliceOfN(rapid.SampledFrom(linkTokens), 1, 12), func(s []string) string { return strings.Join(s, "") }),
	)
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(line, 0, 60).Draw(t, "lines"), "\n")
	})
}

func TestSafeHoldsForManyTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkSafe(t, markdownText().Draw(t, "text")) })
}

// What was rendered from complete lines does not change while the text grows, unless code or a table is open.
func TestSafeKeepsWhatItDrew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := markdownText().Draw(t, "text")
		whole := sanitize(text, maxTables)
		for i := range text {
			if i == 0 || text[i-1] != '\n' {
				continue
			}
			var s scan
			s.lines(text[:i])
			if s.code != nil || s.head != "" || s.prev != "" {
				continue
			}
			if part := strings.TrimSuffix(sanitize(text[:i], maxTables), "\n"); !strings.HasPrefix(whole, part) {
				t.Fatalf("safe(%q) = %q is no prefix of %q", text[:i], part, whole)
			}
		}
	})
}
