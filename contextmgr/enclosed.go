package contextmgr

import (
	"fmt"
	"strings"

	"magpie/internal/chat"
)

// enclosed is a question with what belongs to it: before it the message that it answers, behind it where its files lie.
// What others have written stands behind a mark in every line, so that it cannot be taken for words of ours or for the
// question.
func enclosed(text string, files []chat.File) string {
	var quotes, lines []string
	quoted := ""
	pictures := map[string]int{} // by the message that holds them
	for _, f := range files {
		switch {
		case f.Kind == chat.Quote:
			quoted = f.Of
			quotes = append(quotes, quote(f))
		case f.Kind == chat.Forwarded && f.State == chat.Here: // it is in the text
		default:
			if f.Kind == chat.Picture {
				pictures[f.Of]++
			}
			line := "- "
			if f.Of == quoted {
				line += "引用的消息里的"
			}
			lines = append(lines, line+called(f, pictures[f.Of])+whereabouts(f))
		}
	}
	parts := quotes
	if text != "" {
		parts = append(parts, text)
	}
	if len(lines) > 0 {
		parts = append(parts, "附件：\n"+strings.Join(lines, "\n"))
	}
	return strings.Join(parts, "\n\n")
}

func called(f chat.File, number int) string {
	if f.Kind == chat.Picture {
		return chat.Mark(f.Kind.Word(), fmt.Sprint(number))
	}
	return chat.Mark(f.Kind.Word(), chat.FileName(f.Name))
}

func whereabouts(f chat.File) string {
	switch f.State {
	case chat.Here:
		s := " " + f.Path
		if f.Shown {
			s += "（图片已附在消息里）"
		}
		if f.Said != "" {
			s += "（内容：" + strings.Join(strings.FieldsFunc(valid(f.Said), lineBreak), " ") + "）"
		}
		return s
	case chat.TooBig:
		return " 太大，没有取"
	case chat.Past:
		return " 已经不在了"
	}
	return " 没有取到"
}

// quote is the message that a question answers.
func quote(f chat.File) string {
	if f.State != chat.Here {
		return "> （引用的消息无法读取）"
	}
	who := "助手"
	if name := cleanName(f.Name); name != "" {
		who = " " + name + " "
	}
	s := "> 引用" + who + "的消息："
	for line := range strings.FieldsFuncSeq(f.Said, lineBreak) {
		s += "\n> " + line
	}
	return s
}
