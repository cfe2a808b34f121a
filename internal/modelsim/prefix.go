package modelsim

import (
	"regexp"
	"strings"
)

// A bridge may put earlier messages before the question. This parser is independent of the code that writes them, so
// that the two do not share mistakes.

// These headings are those of contextmgr. They are repeated here because the double must not share code
// with what it tests.
const (
	historyOpening  = "# 对话历史上下文"
	questionHeading = "\n---\n# 当前问题\n\n"
)

var turnHeading = regexp.MustCompile(`^## \[[0-9]+\] (用户|助手|记忆|摘要|旁听)(?:.*)[:：]$`)

// historyMessage is one message of a conversation.
type historyMessage struct {
	user  bool
	text  string
	aside bool // not addressed to the bot by a person: a memory, a summary, an overheard message
}

// splitPrefix separates the history before the question, oldest first, from the question.
func splitPrefix(prompt string) ([]historyMessage, string) {
	// The last one: a question may quote an earlier prompt.
	i := strings.LastIndex(prompt, questionHeading)
	if !strings.HasPrefix(prompt, historyOpening) || i < 0 {
		return nil, inGroup(prompt)
	}
	var list []historyMessage
	for line := range strings.SplitSeq(prompt[:i], "\n") {
		if h := turnHeading.FindStringSubmatch(line); h != nil {
			list = append(list, historyMessage{user: h[1] != "助手", aside: h[1] != "助手" && h[1] != "用户"})
		} else if len(list) > 0 {
			list[len(list)-1].text += unescape(line) + "\n"
		}
	}
	for i := range list {
		list[i].text = strings.TrimSpace(list[i].text)
	}
	return list, inGroup(strings.TrimSpace(prompt[i+len(questionHeading):]))
}

var askerHeading = regexp.MustCompile(`^## \[[0-9]+\] 用户(?:\((.*)\))?:$`)

// inGroup is the question, with the name of each speaker before the words below a heading with that name.
func inGroup(question string) string {
	if first, _, _ := strings.Cut(question, "\n"); !askerHeading.MatchString(first) {
		return question
	}
	var b strings.Builder
	for line := range strings.SplitSeq(question, "\n") {
		switch h := askerHeading.FindStringSubmatch(line); {
		case h == nil:
			b.WriteString(unescape(line) + "\n")
		case h[1] != "":
			b.WriteString(h[1] + "：")
		}
	}
	return strings.TrimSpace(b.String())
}

// unescape removes the backslash from a line that would look like a heading or a rule without it.
func unescape(line string) string {
	rest, ok := strings.CutPrefix(line, `\`)
	if bare := strings.TrimLeft(rest, `\ `); ok && (strings.HasPrefix(bare, "#") || strings.HasPrefix(bare, "---")) {
		return rest
	}
	return line
}

var speaker = regexp.MustCompile(`^[^\s：:，。！？,.!?]{1,32}：`)

// plainText is a text without the name of its speaker, which [inGroup] has put before it: "小明：你好".
func plainText(text string) string {
	if i := speaker.FindStringIndex(text); i != nil && !strings.HasPrefix(text, "记住") &&
		!strings.HasPrefix(text, "请记住") {
		return strings.TrimSpace(text[i[1]:])
	}
	return text
}

// topic is what a conversation that is to get a title is about: the first thing that is said there. The CLI puts it
// between tags.
func topic(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(text, "<session>")), "\n\n")
	return strings.TrimSpace(strings.TrimSuffix(first, "</session>"))
}
