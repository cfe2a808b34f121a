package contextmgr

import (
	"slices"
	"strings"
	"unicode"
)

// A line that reads as one of our own does not look exactly like it: a person may add words at its end, write it in
// another form of Chinese or in English, decorate it, or underline it in place of the hashes. So what counts is its
// shape, and the words that it begins with. They are written here as reader gives them: simplified, in small letters,
// and without blanks.
var (
	titleWords = []string{
		historyTitle, questionTitle, "对话历史", "对话记录", "历史对话", "历史上下文", "聊天历史", "聊天记录",
		"当前的问题", "目前问题", "目前的问题", "现在的问题",
		"conversationhistory", "chathistory", "dialoguehistory", "dialoghistory", "historyoftheconversation", "historycontext",
		"currentquestion", "thecurrentquestion", "currentuserquestion",
	}
	// entryWords are what the headings of entries call them, and what other programs call the same.
	entryWords = []string{
		userWord, assistantWord, memoryWord, summaryWord, overheardWord, "使用者", "助理", "机器人", "系统",
		"user", "assistant", "memory", "summary", "overheard", "human", "claude", "bot", "ai", "system",
	}
	// sayWords may stand between such a word and its colon.
	sayWords = []string{"说道", "说", "回答", "回复", "答", "said", "says", "replied", "replies", "answered", "answers", "wrote", "writes"}
)

func (r *reader) heading() line {
	for n := 0; r.c == '#'; n++ {
		if n == mostHashes {
			return lineProse
		}
		r.next()
	}
	return r.title()
}

// title reads the words of a heading.
func (r *reader) title() line {
	r.pass("*_~`")
	if r.takeAny(titleWords) {
		return lineTitle
	}
	return r.turn()
}

// turn reads the heading of an entry. With a number in brackets the beginning tells enough: [2] 助手说. Without, there must be
// a colon, because people write about users and memory, too.
func (r *reader) turn() line {
	marks, bracketed, number := "*_~`.:、()0123456789", r.c == '[', false
	if bracketed {
		var closed bool
		if number, closed = r.bracket(); !closed {
			return lineProse
		}
		marks = "*_~`.:、-"
	}
	r.pass(marks)
	switch {
	case r.takeAny(entryWords):
		if bracketed {
			return lineTurn
		}
		r.takeAny(sayWords)
		r.pass("*_~`")
		if r.c == ':' || r.c == '(' {
			return lineTurn
		}
	case number && unicode.IsLetter(r.c): // ## [3] 管理员
		return lineTurn
	}
	return lineProse
}

// bracket reads over a pair of brackets. It says whether there is nothing but a number in them, and whether they are
// closed.
func (r *reader) bracket() (number, closed bool) {
	r.next()
	for n := 0; r.c != ']'; n++ {
		if r.c == 0 || n == mostBracketed {
			return false, false
		}
		number = unicode.IsNumber(r.c) && (number || n == 0)
		r.next()
	}
	r.next()
	return number, true
}

// underlined says whether the line at the start of s is made a heading by the next one, a row of equals signs or
// hyphens.
func underlined(s string) bool {
	end := afterBreak(s, 0)
	if strings.HasSuffix(s[:end], "\r") && strings.HasPrefix(s[end:], "\n") {
		end++
	}
	if ruled(s[end:]) {
		return true
	}
	plain := strings.IndexByte(s[:min(len(s), mostUnderline)], '\n') // for some readers no other break ends the line
	return plain >= 0 && ruled(s[plain+1:])
}

// ruled says whether the line at the start of s is a row of equals signs or hyphens.
func ruled(s string) bool {
	r := reader{rest: strings.TrimLeft(s, `\`)}
	r.first()
	sign := r.c
	for n := 0; r.c == sign && n < mostDashes && !r.broke; n++ {
		r.next()
	}
	return (sign == '=' || sign == '-') && (r.c == sign || r.ended())
}

// quote reads the first line of a quote: 引用 Bob 的消息.
func (r *reader) quote() line {
	for n := 0; r.c == '>' && n < mostMarks; n++ {
		r.next()
	}
	r.pass("*_~`(")
	if !r.takeAny([]string{"引用", "quot", "replyto", "inreplyto"}) {
		return lineQuoted
	}
	last := rune(0)
	for n := 0; r.c != 0; n++ {
		if n == mostQuoted || r.takeAny([]string{"消息", "讯息", "message"}) {
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
func (r *reader) files() bool {
	r.pass("*_~`")
	if !r.takeAny([]string{"附件", "attachments", "attachment", "attachedfiles", "attached"}) {
		return false
	}
	r.pass("*_~`")
	return r.ended() || r.c == ':'
}

// file reads a line of the list of files: - [图片 1].
func (r *reader) file() bool {
	r.next()
	if r.take("引用的消息里的") {
		return true
	}
	if r.c != '[' {
		return false
	}
	r.next()
	return r.takeAny([]string{"图片", "文件", "语音", "视频"})
}

// passedOn reads the line above the messages that one passes on: [合并转发].
func (r *reader) passedOn() bool {
	r.pass("*_~`")
	if r.c != '[' {
		return false
	}
	r.next()
	return r.takeAny([]string{"合并转发", "mergedforward", "forwarded"})
}

// note reads what we say to the agent ourselves: （说明：.
func (r *reader) note() line {
	r.next()
	r.pass("*_~`")
	if r.takeAny([]string{"说明", "note"}) {
		r.pass("*_~`")
		if r.c == ':' {
			return lineNote
		}
	}
	return lineProse
}

// takeAny reads over the first of the words that is there.
func (r *reader) takeAny(words []string) bool { return slices.ContainsFunc(words, r.take) }

// pass reads over a few of these signs.
func (r *reader) pass(signs string) {
	for n := 0; r.c != 0 && n < mostMarks && strings.ContainsRune(signs, r.c); n++ {
		r.next()
	}
}
