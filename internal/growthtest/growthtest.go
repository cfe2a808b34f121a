// Package growthtest is for tests of functions that read texts of people and agents: it measures how the time that they
// take grows with the text. One message must not stop the bridge, so no function may take more than linear time. What
// the functions return does not belong here.
package growthtest

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// units are what a text is repeated from. Each is one that some parser begins to read, and must not read to the end
// again and again.
var units = append(strings.Split("abcdefghijklmnopqrstuvwxyz", ""),
	// words
	"ay", "ying", "aB_", "a'", "word ", "A ", "0", "1.", "7 ", "a1", "e\u0301", "字", "的", "昨", "几天前", "last ", "２", "ﬃ", "😀",
	"🇨", "👨\u200d", "\u200b", "\u202e", "\x00", "\xff", "\x1b", "\x1b[", "\x1b]", "\x1b[31m", " ", "\t", "\n", "\r", "\u2028", "\u3000",
	" \n", "。",
	// Markdown
	"`", "``` ", "```\n", "~~~\n", "`a", "``a`", "~~", "*", "***a*", "_", "*_", "#", "# a\n", "> ", ">", "- ", "- a\n", "* * ", "1. a\n",
	"---\n", "a\n=\n", "[", "]", "(", ")", "[](", "[a](", "](", "![", "![](", "![a](b)", "[a](<", "[a]: b\n", "]:", "<", ">", "<a", "<a>", "</a>",
	"<!--", "<br>", "<at", "<at id=all></at>", "<p>", "&", "&amp;", "\\", "\\[", "|", "| a ", "| a |\n|---|\n", "|-", "$", "http://",
	"https://a.b/(", "@", "a@", "a@b.c ", "!", "\"", "'", "{", "{\"a\":", ";", ":", "=", "/", "../", "%", "+",
	// what stands in prompts
	"[REDACTED_EMAIL]", "[REDACTED_", "## [1] 用户:\n", "## [", "# 当前问题\n", "# 对话历史上下文\n", "## [1] User:\n", "# Current question\n", "> Quoting ", "> 引用", "> 引用助手的消息：\n",
	"[合并转发]\n", "附件：\n", "- [图片 1] /a\n", "（说明：", "（", "\\# ", "\\\n", "标题：", "关键词|", "\n\n",
	"<system-reminder>", "< system-reminder", "<system-", "&lt;", "＜", "<\u200b", "<  ",
	"password:", "密码", "sk-", "-----BEGIN PRIVATE KEY-----\n", "curl -u ", "sshpass -p ", "Encrypt Key\n", "?sig=",
	"$(", "<<a\n", "&& ",
)

// most is how much longer the fourfold text may take: linear time grows fourfold, quadratic time sixteenfold.
const most = 8

// sizes are those of the texts that are compared, in bytes: with -short a quarter, which takes a quarter of the time.
func sizes() (short, long int) {
	if testing.Short() {
		return 16 << 10, 64 << 10
	}
	return 64 << 10, 256 << 10
}

// Linear checks that the time of each function grows no faster than its text, whatever the text is repeated from. Most
// functions shorten what is long; both texts are to be.
func Linear(t *testing.T, funcs map[string]func(text string)) {
	for name, f := range funcs {
		t.Run(name, func(t *testing.T) {
			runtime.LockOSThread() // its time is measured
			defer runtime.UnlockOSThread()
			defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would be measured, too
			short, long := sizes()
			for _, unit := range units {
				runtime.GC()
				m := measurement{f: f, unit: unit}
				if a, b := m.compare(short, long); b > most*a {
					t.Errorf("%q: %d KB take %v, %d KB %v", unit, short>>10, a, long>>10, b)
				}
			}
		})
	}
}

// measurement is that of one function with texts of one unit.
type measurement struct {
	f     func(string)
	unit  string
	texts int // so many were measured
}

// compare is how long a short and a long text take. Other work of the processor only adds to that, and so does memory
// that is new, so the long one may be measured several times, and the shortest time counts.
func (m *measurement) compare(short, long int) (a, b time.Duration) {
	a, b = m.cost(short), m.cost(long)
	for try := 0; b > most*a && try < 6; try++ {
		runtime.GC() // what it frees is used again
		b = min(b, m.cost(long))
	}
	return a, b
}

// noise is what one measurement may be off.
const noise = 200 * time.Microsecond

// cost is the time that the function spends on a processor, not waiting for one. Every text is a new one, since a
// function may remember what it was asked before.
func (m *measurement) cost(size int) time.Duration {
	m.texts++
	text := strings.Repeat(m.unit, size/len(m.unit)+m.texts)
	began := now()
	m.f(text)
	return now() - began + noise
}
