package contextmgr

import (
	"slices"
	"strings"
	"unicode"
)

// A forged line need not look exactly like ours: a person may append words, use traditional Chinese or English,
// decorate it, or underline it instead of using hashes. So its shape is checked, and the words that it begins with.
// They are written here as lineReader returns them: simplified, lower case, without spaces.
var (
	titleWords = []string{
		historyTitle.zh, questionTitle.zh, "对话历史", "对话记录", "历史对话", "历史上下文", "聊天历史", "聊天记录",
		"当前的问题", "目前问题", "目前的问题", "现在的问题",
		"conversationhistory", "chathistory", "dialoguehistory", "dialoghistory", "historyoftheconversation",
		"historycontext",
		"currentquestion", "thecurrentquestion", "currentuserquestion",
	}
	// entryWords are the names in the headings of entries, and what other programs call the same.
	entryWords = []string{
		userWord.zh, assistantWord.zh, memoryWord.zh, summaryWord.zh, overheardWord.zh, "使用者", "助理", "机器人", "系统",
		"user", "assistant", "memory", "summary", "overheard", "human", "claude", "bot", "ai", "system",
	}
	// sayWords may come between such a word and its colon.
	sayWords = []string{
		"说道", "说", "回答", "回复", "答", "said", "says", "replied", "replies", "answered", "answers", "wrote", "writes",
	}
)

// heading reads the hashes of a heading, and then its words.
func (r *lineReader) heading() line {
	for n := 0; r.c == '#'; n++ {
		if n == maxHashes {
			return lineProse
		}
		r.next()
	}
	return r.title()
}

// title reads the words of a heading.
func (r *lineReader) title() line {
	r.skipSigns("*_~`")
	if r.skipAnyWord(titleWords) {
		return lineTitle
	}
	return r.turn()
}

// turn reads the heading of an entry. A number in brackets is enough, as in [2] 助手说. Without one there must be a colon,
// because people write about users and memory, too.
func (r *lineReader) turn() line {
	marks, bracketed, number := "*_~`.:、()0123456789", r.c == '[', false
	if bracketed {
		var closed bool
		if number, closed = r.bracket(); !closed {
			return lineProse
		}
		marks = "*_~`.:、-"
	}
	r.skipSigns(marks)
	switch {
	case r.skipAnyWord(entryWords):
		if bracketed {
			return lineEntry
		}
		r.skipAnyWord(sayWords)
		r.skipSigns("*_~`")
		if r.c == ':' || r.c == '(' {
			return lineEntry
		}
	case number && unicode.IsLetter(r.c): // ## [3] 管理员
		return lineEntry
	}
	return lineProse
}

// bracket skips a pair of brackets. It reports whether they contain only a number, and whether they are closed.
func (r *lineReader) bracket() (number, closed bool) {
	r.next()
	for n := 0; r.c != ']'; n++ {
		if r.c == 0 || n == maxBracketed {
			return false, false
		}
		number = unicode.IsNumber(r.c) && (number || n == 0)
		r.next()
	}
	r.next()
	return number, true
}

// isUnderlined reports whether the next line, a row of equals signs or hyphens, makes the line at the start of s a
// heading.
func isUnderlined(s string) bool {
	end := afterBreak(s, 0)
	if strings.HasSuffix(s[:end], "\r") && strings.HasPrefix(s[end:], "\n") {
		end++
	}
	if beginsWithUnderline(s[end:]) {
		return true
	}
	plain := strings.IndexByte(s[:min(len(s), maxUnderline)], '\n') // for some readers no other break ends the line
	return plain >= 0 && beginsWithUnderline(s[plain+1:])
}

// beginsWithUnderline reports whether the line at the start of s is a row of equals signs or hyphens.
func beginsWithUnderline(s string) bool {
	r := lineReader{rest: strings.TrimLeft(s, `\`)}
	r.readFirst()
	sign := r.c
	for n := 0; r.c == sign && n < maxDashes && !r.broke; n++ {
		r.next()
	}
	return (sign == '=' || sign == '-') && (r.c == sign || r.atEnd())
}

// quote reads the first line of a quote: 引用 Bob 的消息.
func (r *lineReader) quote() line {
	for n := 0; r.c == '>' && n < maxMarks; n++ {
		r.next()
	}
	r.skipSigns("*_~`(")
	if !r.skipAnyWord([]string{"引用", "quot", "replyto", "inreplyto"}) {
		return lineQuoted
	}
	last := rune(0)
	for n := 0; r.c != 0; n++ {
		// Limited, since a text may have any number of words between the mark and the end.
		if n == maxQuoted || r.skipAnyWord([]string{"消息", "讯息", "message"}) {
			return lineQuote
		}
		if last == ':' && r.broke {
			return lineQuote
		}
		if !strings.ContainsRune("*_~`", r.c) {
			last = r.c
		}
		r.next()
	}
	if last == ':' {
		return lineQuote
	}
	return lineQuoted
}

// files reads the line above the list of files: 附件：.
func (r *lineReader) files() bool {
	r.skipSigns("*_~`")
	if !r.skipAnyWord([]string{"附件", "attachments", "attachment", "attachedfiles", "attached"}) {
		return false
	}
	r.skipSigns("*_~`")
	return r.atEnd() || r.c == ':'
}

// file reads a line of the list of files: - [图片 1].
func (r *lineReader) file() bool {
	r.next()
	if r.skipAnyWord([]string{ofTheQuote.zh, "fromthequotedmessage"}) {
		return true
	}
	if r.c != '[' {
		return false
	}
	r.next()
	return r.skipAnyWord([]string{"图片", "文件", "语音", "视频"})
}

// skipForwarded reads the line above forwarded messages: [合并转发].
func (r *lineReader) skipForwarded() bool {
	r.skipSigns("*_~`")
	if r.c != '[' {
		return false
	}
	r.next()
	return r.skipAnyWord([]string{"合并转发", "mergedforward", "forwarded"})
}

// note reads one of our notes to the agent: （说明：.
func (r *lineReader) note() line {
	r.next()
	r.skipSigns("*_~`")
	if r.skipAnyWord([]string{"说明", "note"}) {
		r.skipSigns("*_~`")
		if r.c == ':' {
			return lineNote
		}
	}
	return lineProse
}

// skipAnyWord skips the first of the words that matches.
func (r *lineReader) skipAnyWord(words []string) bool { return slices.ContainsFunc(words, r.skipWord) }

// skipSigns skips a few of these signs.
func (r *lineReader) skipSigns(signs string) {
	for n := 0; r.c != 0 && n < maxMarks && strings.ContainsRune(signs, r.c); n++ {
		r.next()
	}
}
