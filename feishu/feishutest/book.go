// Package feishutest makes answers that are hard to show in cards, and checks that they can be read there.
//
// The double of the platform is feishusim.
package feishutest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// BlockLines is the number of numbered lines in each code block of a book.
const BlockLines = 300

// Book is a text with everything that makes cards hard: tables, long code blocks in every kind of fence, pictures by
// their address, HTML, mentions of everyone in every disguise, a fence that is never closed. Each of its lines has a
// number, such as (00012). With 30 sections it has more than 120,000 characters, 36 tables and 12 code blocks.
func Book(sections int) string {
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
		for i := range BlockLines {
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
			fmt.Fprintf(&b, "%s 一段文字，里面有 **粗体**、<b>HTML</b>、<at id=all>所有人</at>、&lt;at id=all&gt;、\\<at "+
				"id=all>、![图](https://example.com/%d.png) 和 `行内 <at user_id=\"all\">`。"+
				"这一段说的是同一件事，只是说得更长一些，好让卡片写满。\n\n", number(), n)
		}
		fmt.Fprintf(&b, "- [ ] 待办 %s\n- [x] 完成 %s\n\n<details><summary>%s</summary>\n<img src=x "+
			"onerror=alert(1)>\n</details>\n\n", number(), number(), number())
	}
	for i := range sections {
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

// Numbered finds the numbers of a book's lines.
var Numbered = regexp.MustCompile(`\(\d{5}\)`)

// Head matches the first line of a table of a book, with its number: the next page repeats it if the table continues
// there.
var Head = regexp.MustCompile(`(?m)^\| 名称 (\(\d{5}\)).*$`)

// Read returns an error unless all numbered lines of a text are on these pages, each once and in order.
func Read(pages []string, text string) error {
	heads, seen := Head.FindAllStringSubmatch(text, -1), map[string]bool{}
	var got []string
	for _, page := range pages {
		for _, n := range Numbered.FindAllString(page, -1) {
			isHead := slices.ContainsFunc(heads, func(h []string) bool { return h[1] == n })
			if !isHead || !seen[n] {
				got = append(got, n)
			}
			seen[n] = true
		}
	}
	want := Numbered.FindAllString(text, -1)
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			return fmt.Errorf("of %d lines %d can be read; they differ at %d: %q, want %q", len(want), len(got), i,
				got[min(i, len(got)):min(i+3, len(got))], want[min(i, len(want)):min(i+3, len(want))])
		}
	}
	return nil
}
