package main

import (
	"regexp"
	"strings"

	"magpie/contextmgr"
	"magpie/internal/chat"
)

const lineBreaks = "\n\r\v\f\u0085\u2028\u2029"

// The lines of a prefix, which is in the language of its chat. Lines of a message that look like these are escaped.
var (
	prefixBegins = regexp.MustCompile(`^# (对话历史上下文|Conversation history)\n`)
	questionHead = regexp.MustCompile(`\n---\n# (当前问题|Current question)\n\n`)
	entryHeading = regexp.MustCompile(`(?m)^## \[\d+\] (用户|助手|记忆|摘要|旁听|User|Assistant|Memory|Summary|Overheard)` +
		`(?:\((.*?)\))?(?: \((\d{4}-\d\d-\d\d)\))?:\n`)
	startOfLine = regexp.MustCompile(`^|[` + lineBreaks + `]`)
)

// readPrompt separates the entries of a prompt's prefix from its question. ok reports whether there is a prefix; without
// one all is the question.
func readPrompt(prompt string) (entries []contextmgr.Parsed, question string, ok bool) {
	head := questionHead.FindStringIndex(prompt)
	if head == nil || !prefixBegins.MatchString(prompt) {
		return nil, prompt, false
	}
	prefix, question := prompt[:head[0]], prompt[head[1]:]
	headings := entryHeading.FindAllStringSubmatchIndex(prefix, -1)
	for i, at := range headings {
		end := len(prefix)
		if i+1 < len(headings) {
			end = headings[i+1][0]
		}
		group := func(n int) string {
			if at[2*n] < 0 {
				return ""
			}
			return prefix[at[2*n]:at[2*n+1]]
		}
		e := contextmgr.Parsed{Name: group(2), Date: group(3), Text: unescaped(strings.TrimSuffix(prefix[at[1]:end], "\n\n"))}
		e.Text = strings.TrimSuffix(e.Text, "\n") // before the rule
		switch group(1) {
		case "记忆", "Memory":
			e.Part = contextmgr.Remembered
		case "摘要", "Summary":
			e.Part = contextmgr.Summed
		case "旁听", "Overheard":
			e.Part, e.Role = contextmgr.Overheard, chat.User
		case "助手", "Assistant":
			e.Part, e.Role = contextmgr.Recent, chat.Assistant
		default:
			e.Part, e.Role = contextmgr.Recent, chat.User
		}
		if e.Part == contextmgr.Recent && e.Date != "" {
			e.Part = contextmgr.Retrieved
		}
		entries = append(entries, e)
	}
	return entries, question, true
}

// unescaped removes the backslashes of those lines before which the prefix would put one.
func unescaped(text string) string {
	var b strings.Builder
	last := 0
	for _, at := range startOfLine.FindAllStringIndex(text, -1) {
		if plain, marked := strings.CutPrefix(text[at[1]:], `\`); marked && isEscaped(plain) {
			b.WriteString(text[last:at[1]])
			last = at[1] + 1
		}
	}
	return b.String() + text[last:]
}

// isEscaped reports whether the prefix puts a backslash before a text, of which the first line and what follows decide.
func isEscaped(plain string) bool {
	line, _, _ := strings.Cut(plain, "\n")
	c := contextmgr.Context{History: []chat.Message{{Role: chat.User, Text: plain}}}
	return strings.Contains(contextmgr.Prefix(c, chat.Private, ""), ":\n\\"+line)
}

// asksOnly reports whether a question is one message.
func asksOnly(question string, kind chat.Kind, m contextmgr.AskedMessage) bool {
	q := contextmgr.Question{Asked: []contextmgr.AskedMessage{m}}
	inChinese := q.Text(kind)
	q.Lang = "en"
	return question == inChinese || question == q.Text(kind)
}
