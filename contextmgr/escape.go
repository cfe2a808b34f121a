package contextmgr

import (
	"strings"
	"unicode/utf8"

	"magpie/internal/text"
)

// The prefix consists of lines, and a message may contain lines that look like them. Such a line gets a backslash in
// front, and so does one that already starts with backslashes, so that removing one backslash restores the original
// text exactly. All other lines are unchanged. The comparison is visual: spaces, invisible characters and accents are
// ignored, and lookalike characters are equal.

// line is the kind of line that a text looks like.
type line int

const (
	lineProse     line = iota
	lineRule           // ---
	lineTitle          // # 对话历史上下文, # 当前问题
	lineEntry          // ## [1] 用户:
	lineQuote          // > 引用助手的消息：
	lineQuoted         // > and anything else
	lineForwarded      // [合并转发]
	lineFiles          // 附件：
	lineFile           // - [图片 1] /pictures/1.png
	lineNote           // （说明：……）
)

// reservedInHistory reports whether a message of the History must not contain such a line.
func reservedInHistory(l line) bool { return l == lineRule || l == lineTitle || l == lineEntry }

// reservedInQuestion reports whether a message of the question must not contain such a line. A rule alone is allowed:
// none of ours follows there.
func reservedInQuestion(l line) bool {
	switch l {
	case lineTitle, lineEntry, lineQuote, lineForwarded, lineFiles, lineFile, lineNote:
		return true
	}
	return false
}

// escape puts a backslash before each line of text that looks like one that forged accepts.
func escape(text string, forged func(line) bool) string {
	return eachLine(text, func(l string) (string, string) {
		if forged(classify(strings.TrimLeft(l, `\`))) {
			return `\`, l
		}
		return "", l
	})
}

// eachLine rewrites the start of each line of text. edit gets the rest of the whole text from the line's start on, and
// returns what to insert before it and what remains of it.
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

// afterBreak is the start of the line after the one at i in s, which is valid UTF-8.
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

// classify returns what the line at the start of s looks like. Only "\n" ends a line for every reader; to some readers
// the other line breaks are spaces. So a line is prose only if it looks like prose both ways.
func classify(s string) line {
	r := lineReader{rest: s}
	r.readFirst()
	switch r.c {
	case '-':
		// The reader is a value, so a copy can look ahead without moving the original.
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
	if begun := r; begun.skipForwarded() {
		return lineForwarded
	}
	if l := r.title(); l != lineProse && isUnderlined(s) {
		return l
	}
	return lineProse
}

// lineReader reads a line one visible character at a time.
type lineReader struct {
	rest  string
	c     rune // the current character, folded; 0 = the line has ended
	broke bool // between c and the one before is a break that ends the line for some readers
}

// readFirst reads the line's first character. It stops at any line break: the next line is checked on its own, and a
// text of many empty lines stays cheap.
func (r *lineReader) readFirst() {
	for r.nextRune() && !text.IsLineBreak(r.c) {
		if !text.IsBlank(r.c) {
			r.c = text.Fold(r.c)
			return
		}
	}
	r.c = 0
}

// next reads the next character. It skips backslashes at the start of a possible line, because escape may have added
// them.
func (r *lineReader) next() {
	r.broke = false
	fresh := false // nothing but backslashes since the last break
	for r.nextRune() {
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
			r.c = text.Fold(r.c)
			return
		}
	}
}

// nextRune reads one rune unchanged and reports whether there was one.
func (r *lineReader) nextRune() bool {
	if r.rest == "" {
		r.c = 0
		return false
	}
	c, size := utf8.DecodeRuneInString(r.rest)
	r.c, r.rest = c, r.rest[size:]
	return true
}

// atEnd reports whether the line ends before the current character, at least for some readers.
func (r *lineReader) atEnd() bool { return r.c == 0 || r.broke }

// skipWord skips word and reports whether it was there; if not, the position does not change.
func (r *lineReader) skipWord(word string) bool {
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

// Limits of the characters read per part of a line. They keep classify linear in a text of very many very short lines.
const (
	maxDashes    = 80 // more are a rule, whatever follows
	maxHashes    = 12 // more are not a heading
	maxBracketed = 24 // more are not a number
	maxMarks     = 12 // more cannot precede a heading's words
	maxQuoted    = 80 // more cannot be between the words of a quote's first line
	maxUnderline = 400
)

// rule reads a row of dashes. It must end the line, unless it is very long.
func (r *lineReader) rule() line {
	n := 0
	for r.c == '-' && n < maxDashes && (n < 3 || !r.atEnd()) {
		n++
		r.next()
	}
	if n == maxDashes || n >= 3 && r.atEnd() {
		return lineRule
	}
	return lineProse
}

// blank reports whether s has no visible content.
func blank(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !text.IsBlank(r) })
}
