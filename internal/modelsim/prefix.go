package modelsim

import (
	"regexp"
	"strings"
)

// A bridge may put earlier messages before the question. This parser is independent of the code that writes them, so
// that the two do not share mistakes.

// These headings are those of contextmgr. They are repeated here because the double must not share code
// with what it tests.
var (
	historyOpening  = regexp.MustCompile(`^# (对话历史上下文|Conversation history)\n`)
	questionHeading = regexp.MustCompile(`\n---\n# (当前问题|Current question)\n\n`)
	turnHeading     = regexp.MustCompile(
		`^## \[[0-9]+\] (用户|助手|记忆|摘要|旁听|User|Assistant|Memory|Summary|Overheard)(?:.*)[:：]$`)
)

// historyMessage is one message of a conversation.
type historyMessage struct {
	user  bool
	text  string
	aside bool // not addressed to the bot by a person: a memory, a summary, an overheard message
}

// splitPrefix separates the history before the question, oldest first, from the question.
func splitPrefix(prompt string) ([]historyMessage, string) {
	heads := questionHeading.FindAllStringIndex(prompt, -1)
	if !historyOpening.MatchString(prompt) || len(heads) == 0 {
		return nil, inGroup(prompt)
	}
	head := heads[len(heads)-1] // a question may quote an earlier prompt
	var list []historyMessage
	for line := range strings.SplitSeq(prompt[:head[0]], "\n") {
		if h := turnHeading.FindStringSubmatch(line); h != nil {
			answer := h[1] == "助手" || h[1] == "Assistant"
			list = append(list, historyMessage{user: !answer, aside: !answer && h[1] != "用户" && h[1] != "User"})
		} else if len(list) > 0 {
			list[len(list)-1].text += unescape(line) + "\n"
		}
	}
	for i := range list {
		list[i].text = strings.TrimSpace(list[i].text)
	}
	return list, inGroup(strings.TrimSpace(prompt[head[1]:]))
}

var askerHeading = regexp.MustCompile(`^## \[[0-9]+\] (?:用户|User)(?:\((.*)\))?:$`)

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
