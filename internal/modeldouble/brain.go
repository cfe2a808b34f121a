package modeldouble

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// piece is how many runes the brain says at once.
const piece = 6

// think answers a request from nothing but the request.
func think(r *Request, pace time.Duration) []Step {
	if last := r.Messages; len(last) > 0 && last[len(last)-1].Tool != "" {
		return say("完成 / done:\n```\n"+last[len(last)-1].Tool+"\n```", pace)
	}
	prompt := r.LastUser()
	question := prompt
	if _, after, ok := strings.Cut(prompt, questionLine); ok && strings.HasPrefix(prompt, historyLine) {
		question = after
	}
	if m := runCommand.FindStringSubmatch(question); m != nil && r.HasTool("Bash") {
		return []Step{Tool("Bash", object{"command": m[1], "description": "as asked"})}
	}
	return say(reply(question, known(r, question)), pace)
}

func say(text string, pace time.Duration) []Step { return []Step{Chunks(text, piece, pace)} }

const (
	historyLine  = "# 对话历史上下文"
	questionLine = "\n---\n# 当前问题\n\n"
)

var (
	heading     = regexp.MustCompile(`(?m)^## \[\d+\] (用户|助手)(?:\([^\n]*\))?:$`)
	runCommand  = regexp.MustCompile("(?:运行|run)\\s*`([^`]+)`")
	countTo     = regexp.MustCompile(`(?:数到|count to)\s*(\d+)`)
	nameSaid    = regexp.MustCompile(`(?:我的名字是|我叫|[Mm]y name is|I'm called|I am called)\s*([\p{Han}A-Za-z][\p{Han}A-Za-z0-9_-]*)`)
	nameAsked   = regexp.MustCompile(`(?i)(我叫什么|名字叫什么|名字是什么|我是谁|what is my name|what's my name)`)
	factSaid    = regexp.MustCompile(`(?:记住|[Rr]emember)[:：]\s*(\S+?)\s*(?:是|is)\s*([^\s。.，,]+)`)
	factAsked   = regexp.MustCompile(`(?:(\S+?)\s*是什么|[Ww]hat is (\S+?)\?)`)
	longAsked   = regexp.MustCompile(`(?i)(写一篇长文|long answer)`)
	interrupted = "[Request interrupted by user]"
)

// known is everything that users said before the question: in the session's messages and in history prefixes.
func known(r *Request, question string) []string {
	var said []string
	for _, m := range r.Messages {
		if m.Role == "user" && m.Text != "" && m.Text != interrupted {
			said = append(said, statements(m.Text)...)
		}
	}
	if n := len(said); n > 0 && said[n-1] == question {
		said = said[:n-1]
	}
	return said
}

// statements takes what users said out of one prompt.
func statements(prompt string) []string {
	if !strings.HasPrefix(prompt, historyLine) {
		return []string{prompt}
	}
	history, question, _ := strings.Cut(prompt, questionLine)
	var said []string
	marks := heading.FindAllStringSubmatchIndex(history, -1)
	for i, m := range marks {
		end := len(history)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		if history[m[2]:m[3]] == "用户" {
			said = append(said, strings.TrimSpace(history[m[1]:end]))
		}
	}
	return append(said, question)
}

// reply is what the brain says.
func reply(question string, said []string) string {
	zh := strings.ContainsFunc(question, func(r rune) bool { return unicode.Is(unicode.Han, r) })
	pick := func(chinese, english string) string {
		if zh {
			return chinese
		}
		return english
	}
	switch {
	case nameAsked.MatchString(question):
		if name := newest(said, nameSaid, 1); name != "" {
			return pick("你叫"+name+"。", "Your name is "+name+".")
		}
		return pick("我不知道你的名字。", "I don't know your name.")
	case nameSaid.MatchString(question):
		name := nameSaid.FindStringSubmatch(question)[1]
		return pick("好的，"+name+"，我记住了。", "Nice to meet you, "+name+".")
	case factSaid.MatchString(question):
		return pick("记住了。", "I will remember that.")
	case countTo.MatchString(question):
		return count(countTo.FindStringSubmatch(question)[1])
	case longAsked.MatchString(question):
		return essay(zh)
	case factAsked.MatchString(question):
		if value := fact(question, said); value != "" {
			return pick("是"+value+"。", "It is "+value+".")
		}
		return pick("我不知道。", "I don't know.")
	}
	return pick(fmt.Sprintf("收到：「%s」。在这之前我看到 %d 条你说的话。", question, len(said)),
		fmt.Sprintf("You said: “%s”. Before that I see %d messages of yours.", question, len(said)))
}

// newest finds the last statement that matches, and gives its group.
func newest(said []string, pattern *regexp.Regexp, group int) string {
	for i := len(said) - 1; i >= 0; i-- {
		if nameAsked.MatchString(said[i]) {
			continue
		}
		if all := pattern.FindAllStringSubmatch(said[i], -1); len(all) > 0 {
			return all[len(all)-1][group]
		}
	}
	return ""
}

// fact finds the last value that was given for what the question asks.
func fact(question string, said []string) string {
	m := factAsked.FindStringSubmatch(question)
	key := m[1] + m[2]
	for i := len(said) - 1; i >= 0; i-- {
		for _, f := range factSaid.FindAllStringSubmatch(said[i], -1) {
			if strings.HasSuffix(key, f[1]) {
				return f[2]
			}
		}
	}
	return ""
}

// maxCount is as far as the brain counts.
const maxCount = 5000

func count(to string) string {
	n, err := strconv.Atoi(to)
	if err != nil || n > maxCount {
		n = maxCount
	}
	words := make([]string, n)
	for i := range words {
		words[i] = strconv.Itoa(i + 1)
	}
	return strings.Join(words, " ")
}

// essay is a long text with everything that Markdown has.
func essay(zh bool) string {
	title, line := "A long answer", "The magpies fly over the river of stars and build a bridge of wings. "
	if zh {
		title, line = "长文", "喜鹊飞过银河，用翅膀搭起一座桥，让远方的人得以相见。"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", title)
	for i := 1; i <= 6; i++ {
		fmt.Fprintf(&b, "## %d\n\n%s\n\n- **a** `x`\n- *b*\n\n", i, strings.Repeat(line, 1200/len([]rune(line))))
		if i == 2 {
			b.WriteString("```go\nfunc main() {\n\tfmt.Println(\"鹊桥\")\n}\n```\n\n")
		}
		if i == 4 {
			b.WriteString("| name | value |\n|---|---|\n| 牛郎 | 1 |\n| 织女 | 2 |\n\n")
		}
	}
	return b.String()
}
