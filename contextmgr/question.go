package contextmgr

import (
	"fmt"
	"slices"
	"strings"

	"magpie/internal/chat"
	"magpie/internal/safepath"
	"magpie/internal/text"
)

// Question is everything that waits for an answer, with its attachments. It is the last part of a prompt, and all that
// a live process gets.
type Question struct {
	Asked []AskedMessage // in order; consecutive messages of a private chat are merged
	Note  string         // one of our notes after them; empty = none
	Lang  string         // of the chat: "en", or Chinese
}

// AskedMessage is one message of the question.
type AskedMessage struct {
	Name      string  // of the asker, in groups and if known
	Quotes    []Quote // the messages that it replies to
	Text      string
	Forwarded bool     // the text is a merged forward
	Files     []string // attachments, with the path of each
}

// Quote is a message that another one replies to.
type Quote struct {
	Name    string // of its author; empty = the agent
	Text    string // without blank lines
	Missing bool   // it cannot be read
}

const (
	quoteMark = "> "
	blankLine = "\n\n"
)

// The words around the questions.
var (
	quoteOfAgent  = wording{"引用助手的消息：", "Quoting the assistant:"}
	quoteOfPerson = wording{"引用 %s 的消息：", "Quoting %s:"}
	quoteMissing  = wording{"（引用的消息无法读取）", "(Quoted message not available)"}
	filesHead     = wording{"附件：", "Attachments:"}
	ofTheQuote    = wording{"引用的消息里的", "from the quoted message: "}

	fileShown   = wording{"（图片已附在消息里）", " (the image is part of this message)"}
	fileSays    = wording{"（内容：%s）", " (content: %s)"}
	fileTooBig  = wording{" 太大，没有取", " too large, not fetched"}
	fileGone    = wording{" 已经不在了", " no longer there"}
	fileMissing = wording{" 没有取到", " could not be fetched"}
)

var forwardMark = chat.AttachmentMark(chat.Forwarded.Label(), "")

// questionOf collects the question of r.
func questionOf(r Request) Question {
	q := Question{Note: oneLine(r.Note), Lang: r.Lang}
	for _, m := range r.Asked {
		q.Asked = append(q.Asked, withAttachments(m, r.Kind, r.Lang))
	}
	return q.merged(r.Kind)
}

// QuestionText is the text of messages that the agent gets without a context, while it works on an earlier question.
func QuestionText(asked []chat.Message, kind chat.Kind, lang string) string {
	return validUTF8(questionOf(Request{Asked: asked, Kind: kind, Lang: lang}).Text(kind))
}

// merged merges consecutive messages of a private chat whose boundary would not be visible anyway.
func (q Question) merged(kind chat.Kind) Question {
	if kind != chat.Private {
		return q
	}
	var list []AskedMessage
	for _, a := range q.Asked {
		last := len(list) - 1
		switch {
		case a.Text == "" && len(a.Quotes)+len(a.Files) == 0: // it is empty
		case last >= 0 && list[last].continuesWith(a):
			list[last] = list[last].merge(a)
		default:
			list = append(list, a)
		}
	}
	q.Asked = list
	return q
}

// continuesWith reports whether a followed by b would look like one message.
func (a AskedMessage) continuesWith(b AskedMessage) bool {
	switch {
	case len(a.Files) > 0:
		return false
	case a.Text == "":
		return true
	}
	return len(b.Quotes) == 0 && (b.Text == "" || !a.Forwarded && !b.Forwarded)
}

// merge joins a and b to one message.
func (a AskedMessage) merge(b AskedMessage) AskedMessage {
	if a.Text != "" && b.Text != "" {
		a.Text += blankLine
	}
	a.Text += b.Text
	a.Forwarded = a.Forwarded || b.Forwarded
	a.Quotes, a.Files = slices.Concat(a.Quotes, b.Quotes), b.Files
	return a
}

// Text is q as the agent gets it. In a group every message has a heading with its author's name, as in the History. A
// plain question of a private chat is just its text. Quoted lines have a mark in front.
//
// A message cannot forge any of this: a line that looks like one of ours gets a backslash in front.
func (q Question) Text(kind chat.Kind) string {
	var parts []string
	for i, a := range q.Asked {
		text := strings.Join(a.parts(q.Lang), blankLine)
		if kind != chat.Private {
			text = heading(i+1, a.entry(), q.Lang) + text
		}
		parts = append(parts, text)
	}
	if q.Note != "" {
		parts = append(parts, q.Note)
	}
	return strings.Join(parts, blankLine)
}

// entry is the heading of a.
func (a AskedMessage) entry() Parsed { return Parsed{Part: Recent, Role: chat.User, Name: a.Name} }

// parts are the quotes, the text and the files of a.
func (a AskedMessage) parts(lang string) []string {
	var parts []string
	for _, q := range a.Quotes {
		parts = append(parts, q.render(lang))
	}
	if a.Text != "" {
		parts = append(parts, a.escaped())
	}
	if len(a.Files) > 0 {
		parts = append(parts, filesHead.in(lang)+"\n- "+strings.Join(a.Files, "\n- "))
	}
	return parts
}

// escaped is the text of a without forged lines. After a quote, the first line must not look like a part of the quote
// either.
func (a AskedMessage) escaped() string {
	text := escape(a.Text, reservedInQuestion)
	switch {
	case a.Forwarded:
		return strings.TrimPrefix(text, `\`) // the mark is ours
	case len(a.Quotes) > 0 && continuesQuote(text):
		return `\` + text
	}
	return text
}

// continuesQuote reports whether text begins with a line that looks like a part of a quote above it.
func continuesQuote(text string) bool { return classify(strings.TrimLeft(text, `\`)) == lineQuoted }

// render writes the quote with a mark in front of every line, so that quoted text cannot pose as the question.
func (q Quote) render(lang string) string {
	switch {
	case q.Missing:
		return quoteMark + quoteMissing.in(lang)
	case q.Text == "":
		return q.heading(lang)
	}
	var b strings.Builder
	b.WriteString(q.heading(lang))
	for line := range strings.SplitSeq(q.Text, "\n") {
		b.WriteString("\n" + quoteMark)
		if headsQuote(line) { // a nested quote would look like one of somebody else
			b.WriteString(`\`)
		}
		b.WriteString(line)
	}
	return b.String()
}

// headsQuote reports whether a line of a quote looks like the first line of another quote.
func headsQuote(line string) bool {
	return classify(quoteMark+strings.TrimLeft(line, `\`)) == lineQuote
}

// heading is the first line of the quote; it names the author.
func (q Quote) heading(lang string) string {
	if q.Name == "" {
		return quoteMark + quoteOfAgent.in(lang)
	}
	return quoteMark + fmt.Sprintf(quoteOfPerson.in(lang), q.shownName(lang))
}

// shownName marks a person's name if it could be taken for the agent's.
func (q Quote) shownName(lang string) string {
	r := lineReader{rest: q.Name}
	r.next()
	marked := userWord.in(lang) + "("
	if r.skipAnyWord([]string{assistantWord.zh, "助理", "assistant", "theassistant"}) || strings.HasPrefix(q.Name, marked) {
		return marked + q.Name + ")"
	}
	return q.Name
}

// withAttachments converts a message with its quotes and files.
func withAttachments(m chat.Message, kind chat.Kind, lang string) AskedMessage {
	a := AskedMessage{Name: speaker(m, kind), Text: strings.TrimSpace(validUTF8(m.Text))}
	quoted := ""
	pictures := map[string]int{} // by message
	for _, f := range m.Files {
		switch {
		case f.Kind == chat.Quote:
			quoted = f.Of
			a.Quotes = append(a.Quotes, quoteOf(f))
		case f.Kind == chat.Forwarded && f.State == chat.Here: // it is in the text
		default:
			if f.Kind == chat.Picture {
				pictures[f.Of]++
			}
			line := ""
			if f.Of == quoted {
				line = ofTheQuote.in(lang)
			}
			a.Files = append(a.Files, oneLine(line+fileLabel(f, pictures[f.Of])+fileStatus(f, lang)))
		}
	}
	forwards := func(f chat.File) bool { return f.Kind == chat.Forwarded }
	if slices.ContainsFunc(m.Files, forwards) {
		if list := withoutBlankLines(a.Text); isForward(list) {
			a.Forwarded, a.Text = true, list
		}
	}
	return a
}

// withoutBlankLines removes blank lines from a text.
func withoutBlankLines(s string) string {
	return strings.Join(strings.FieldsFunc(validUTF8(s), text.IsLineBreak), "\n")
}

// isForward reports whether text begins with our line above forwarded messages.
func isForward(text string) bool {
	first, _, _ := strings.Cut(text, "\n")
	return first == forwardMark
}

// quoteOf converts a quoted message. One that could not be fetched is mentioned, so that the agent knows that the
// question refers to something it cannot see.
func quoteOf(f chat.File) Quote {
	if f.State != chat.Here {
		return Quote{Missing: true}
	}
	return Quote{Name: cleanName(f.Name), Text: withoutBlankLines(f.Said)}
}

// fileLabel is the name of a file in the list. Images have numbers, since their names say nothing.
func fileLabel(f chat.File, number int) string {
	if f.Kind == chat.Picture {
		return chat.AttachmentMark(f.Kind.Label(), fmt.Sprint(number))
	}
	return chat.AttachmentMark(f.Kind.Label(), safepath.FileName(f.Name))
}

// fileStatus is the path of the file, or the reason why the agent does not get it.
func fileStatus(f chat.File, lang string) string {
	switch f.State {
	case chat.Here:
		s := " " + f.Path
		if f.Shown {
			s += fileShown.in(lang)
		}
		if f.Said != "" {
			s += fmt.Sprintf(fileSays.in(lang), oneLine(f.Said))
		}
		return s
	case chat.TooBig:
		return fileTooBig.in(lang)
	case chat.Past:
		return fileGone.in(lang)
	}
	return fileMissing.in(lang)
}

// oneLine joins the lines of a text.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(validUTF8(s), text.IsLineBreak), " ")
}
