package contextmgr

import (
	"strings"
	"unicode/utf8"

	"magpie/internal/text"
)

// The prefix is made of lines, and a message may hold lines that look the same. Such a line gets a backslash in front,
// and so does one that already has backslashes there, so that taking one away again restores exactly what was written.
// Everything else stays as it is. What counts is how a line looks: blanks, invisible characters and accents are passed
// over, and characters that look alike are one.

// line is what a line of text reads as.
type line int

const (
	lineProse    line = iota
	lineRule          // ---
	lineTitle         // # 对话历史上下文, # 当前问题
	lineTurn          // ## [1] 用户:
	lineQuote         // > 引用助手的消息：
	lineQuoted        // > and anything else
	linePassedOn      // [合并转发]
	lineFiles         // 附件：
	lineFile          // - [图片 1] /pictures/1.png
	lineNote          // （说明：……）
)

// ofHistory accepts the lines that a message of the History must not forge.
func ofHistory(l line) bool { return l == lineRule || l == lineTitle || l == lineTurn }

// ofQuestion accepts the lines that a message which is asked now must not forge. Nothing of ours comes behind a mere
// rule there, so that one stays as it is.
func ofQuestion(l line) bool {
	switch l {
	case lineTitle, lineTurn, lineQuote, linePassedOn, lineFiles, lineFile, lineNote:
		return true
	}
	return false
}

// escape puts a backslash before each line of text that reads as one that forged accepts.
func escape(text string, forged func(line) bool) string {
	return eachLine(text, func(l string) (string, string) {
		if forged(classify(strings.TrimLeft(l, `\`))) {
			return `\`, l
		}
		return "", l
	})
}

// unescape takes away the backslashes that escape has put there.
func unescape(text string, forged func(line) bool) string {
	return eachLine(text, func(l string) (string, string) {
		if rest, ok := strings.CutPrefix(l, `\`); ok && forged(classify(strings.TrimLeft(rest, `\`))) {
			return "", rest
		}
		return "", l
	})
}

// eachLine rewrites the start of each line of text. edit gets the text from the line's start to the end of the whole
// text, and returns what to put before it and what is left of it.
func eachLine(text string, edit func(fromLine string) (put, left string)) string {
	var b strings.Builder
	rest := text // not yet written to b
	for at := 0; at < len(text); at = afterBreak(text, at) {
		put, left := edit(text[at:])
		start := len(text) - len(left)
		if put == "" && start == at {
			continue
		}
		b.WriteString(rest[:len(rest)-(len(text)-at)])
		b.WriteString(put)
		rest = left
	}
	if b.Len() == 0 && len(rest) == len(text) {
		return text
	}
	b.WriteString(rest)
	return b.String()
}

// afterBreak is where the line after the one at i starts in s, which is valid UTF-8.
func afterBreak(s string, i int) int {
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c >= 0x20 && c < 0x80:
		case text.IsLineBreak(rune(c)) && c < 0x80:
			return i + 1
		case c == 0xC2 && strings.HasPrefix(s[i:], "\u0085"):
			return i + len("\u0085")
		case c == 0xE2 && (strings.HasPrefix(s[i:], "\u2028") || strings.HasPrefix(s[i:], "\u2029")):
			return i + len("\u2028")
		}
	}
	return i
}

// classify says what the line at the start of s reads as. Only "\n" ends a line for every reader; for some, the other
// line breaks are mere blanks. So a line is not prose when it reads as something else in either way.
func classify(s string) line {
	r := reader{rest: s}
	r.first()
	switch r.c {
	case '-':
		if file := r; file.file() {
			return lineFile
		}
		return r.rule()
	case '#':
		return r.heading()
	case '>':
		return r.quote()
	case '(':
		return r.note()
	case 0:
		return lineProse
	}
	if begun := r; begun.files() {
		return lineFiles
	}
	if begun := r; begun.passedOn() {
		return linePassedOn
	}
	if l := r.title(); l != lineProse && underlined(s) {
		return l
	}
	return lineProse
}

// reader goes through a line one visible character at a time.
type reader struct {
	rest  string
	c     rune // the current character, folded; 0 = the line has ended
	broke bool // between c and the one before is a break that ends the line for some readers
}

// first reads the line's first character. It does not look beyond any line break: what comes there is judged when its
// own line is, and a text of many empty lines stays cheap.
func (r *reader) first() {
	for r.pull() && !text.IsLineBreak(r.c) {
		if !text.IsBlank(r.c) {
			r.c = fold(r.c)
			return
		}
	}
	r.c = 0
}

// next reads on. Backslashes at the start of what may be a line are passed over, because escape may have put them.
func (r *reader) next() {
	r.broke = false
	fresh := false // nothing but backslashes since the last break
	for r.pull() {
		switch {
		case r.c == '\n':
			r.c, r.rest = 0, ""
			return
		case text.IsLineBreak(r.c):
			r.broke, fresh = true, true
		case text.IsBlank(r.c):
			fresh = false
		case r.c == '\\' && fresh:
		default:
			r.c = fold(r.c)
			return
		}
	}
}

// pull takes the next character as it is, and says whether there is one.
func (r *reader) pull() bool {
	if r.rest == "" {
		r.c = 0
		return false
	}
	c, size := utf8.DecodeRuneInString(r.rest)
	r.c, r.rest = c, r.rest[size:]
	return true
}

// ended says whether the line ends before the current character, at least for some readers.
func (r *reader) ended() bool { return r.c == 0 || r.broke }

// take reads over word and says whether it is there; if not, it stays where it is.
func (r *reader) take(word string) bool {
	start := *r
	for _, w := range word {
		if r.c != w {
			*r = start
			return false
		}
		r.next()
	}
	return true
}

// How many characters of one part of a line matter. The bounds keep classify from looking far ahead, which in a text of
// very many very short lines would take for ever.
const (
	mostDashes    = 80 // more are a rule, whatever follows
	mostHashes    = 12 // more are no heading
	mostBracketed = 24 // more are no number
	mostMarks     = 12 // more do not stand in front of a heading's words
	mostQuoted    = 80 // more do not stand between the words of a quote's first line
	mostUnderline = 400
)

func (r *reader) rule() line {
	n := 0
	for r.c == '-' && n < mostDashes && (n < 3 || !r.ended()) {
		n++
		r.next()
	}
	if n == mostDashes || n >= 3 && r.ended() {
		return lineRule
	}
	return lineProse
}

// blank says whether a reader of s sees nothing.
func blank(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !text.IsBlank(r) })
}
