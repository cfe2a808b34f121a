package contextmgr

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"magpie/internal/chat"
	"magpie/internal/safepath"
	"magpie/internal/text"
)

// Question is everything that waits for an answer, with its attachments. It is the last part of a prompt, and all that
// a live process gets.
type Question struct {
	Asked []AskedMessage // in order; consecutive messages of a private chat are merged
	Note  string         // one of our notes after them; empty = none
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

// The words around the questions. [ParseQuestion] parses them, so both must change together.
const (
	quoteMark    = "> "
	quoteHead    = quoteMark + "引用"
	quoteTail    = "的消息："
	quoteMissing = quoteMark + "（引用的消息无法读取）"
	filesHead    = "附件："
	ofTheQuote   = "引用的消息里的"
	blankLine    = "\n\n"
)

var forwardMark = chat.AttachmentMark(chat.Forwarded.Label(), "")

// questionOf collects the question of r.
func questionOf(r Request) Question {
	q := Question{Note: oneLine(r.Note)}
	for _, m := range r.Asked {
		q.Asked = append(q.Asked, withAttachments(m, r.Kind))
	}
	return q.merged(r.Kind)
}

// QuestionText is the text of messages that the agent gets without a context, while it works on an earlier question.
func QuestionText(asked []chat.Message, kind chat.Kind) string {
	return validUTF8(questionOf(Request{Asked: asked, Kind: kind}).Text(kind))
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
		text := strings.Join(a.parts(), blankLine)
		if kind != chat.Private {
			text = heading(i+1, a.entry()) + text
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
func (a AskedMessage) parts() []string {
	var parts []string
	for _, q := range a.Quotes {
		parts = append(parts, q.String())
	}
	if a.Text != "" {
		parts = append(parts, a.escaped())
	}
	if len(a.Files) > 0 {
		parts = append(parts, filesHead+"\n- "+strings.Join(a.Files, "\n- "))
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

// unescaped reverses escaped.
func (a AskedMessage) unescaped(text string) string {
	if rest, ok := strings.CutPrefix(text, `\`); ok && !a.Forwarded && len(a.Quotes) > 0 && continuesQuote(rest) {
		text = rest
	} else if a.Forwarded {
		text = `\` + text
	}
	return unescape(text, reservedInQuestion)
}

// continuesQuote reports whether text begins with a line that looks like a part of a quote above it.
func continuesQuote(text string) bool { return classify(strings.TrimLeft(text, `\`)) == lineQuoted }

// String writes the quote with a mark in front of every line, so that quoted text cannot pose as the question.
func (q Quote) String() string {
	switch {
	case q.Missing:
		return quoteMissing
	case q.Text == "":
		return q.heading()
	}
	var b strings.Builder
	b.WriteString(q.heading())
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
func (q Quote) heading() string {
	who := assistantWord
	if q.Name != "" {
		who = " " + q.shownName() + " "
	}
	return quoteHead + who + quoteTail
}

// shownName marks a person's name if it could be taken for the agent's.
func (q Quote) shownName() string {
	r := lineReader{rest: q.Name}
	r.next()
	if r.skipAnyWord([]string{assistantWord, "助理", "assistant"}) || strings.HasPrefix(q.Name, userWord+"(") {
		return userWord + "(" + q.Name + ")"
	}
	return q.Name
}

// withAttachments converts a message with its quotes and files.
func withAttachments(m chat.Message, kind chat.Kind) AskedMessage {
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
				line = ofTheQuote
			}
			a.Files = append(a.Files, oneLine(line+fileLabel(f, pictures[f.Of])+fileStatus(f)))
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
func fileStatus(f chat.File) string {
	switch f.State {
	case chat.Here:
		s := " " + f.Path
		if f.Shown {
			s += "（图片已附在消息里）"
		}
		if f.Said != "" {
			s += "（内容：" + oneLine(f.Said) + "）"
		}
		return s
	case chat.TooBig:
		return " 太大，没有取"
	case chat.Past:
		return " 已经不在了"
	}
	return " 没有取到"
}

// oneLine joins the lines of a text.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(validUTF8(s), text.IsLineBreak), " ")
}

// ParseQuestion parses exactly what [Question.Text] wrote for a chat of this kind. ok reports whether text can have
// come from there.
func ParseQuestion(text string, kind chat.Kind) (q Question, ok bool) {
	p := questionParser{rest: text, kind: kind}
	for p.rest != "" {
		if note, last := p.trailingNote(); last {
			q.Note = note
			break
		}
		a, ok := p.readMessage(len(q.Asked) + 1)
		if !ok {
			return Question{}, false
		}
		q.Asked = append(q.Asked, a)
	}
	// As for headings: only text that this package would write the same way is accepted.
	if !utf8.ValidString(text) || q.Text(kind) != text {
		return Question{}, false
	}
	return q, true
}

// questionParser parses the text of a [Question] part by part.
type questionParser struct {
	rest string
	kind chat.Kind
}

// readMessage reads message n.
func (p *questionParser) readMessage(n int) (a AskedMessage, ok bool) {
	if p.kind != chat.Private {
		e, rest, ok := parseHeading(p.rest, n)
		if !ok || e.Part != Recent || e.Role != chat.User {
			return a, false
		}
		a.Name = e.Name
		if rest, empty := strings.CutPrefix(rest, blankLine); empty && p.beginsNext(rest, n) {
			p.rest = rest
			return a, true
		}
		p.rest = rest
	}
	for {
		q, found := parseQuote(p.rest)
		if !found {
			break
		}
		a.Quotes = append(a.Quotes, q)
		if !p.skip(q.String()) || p.beginsNext(p.rest, n) {
			return a, true
		}
	}
	if files := filesOf(p.rest); len(files) == 0 {
		a.Forwarded = isForward(p.rest)
		text := p.rest[:p.textEnd(n, a.Forwarded)]
		a.Text = a.unescaped(text)
		if !p.skip(text) || p.beginsNext(p.rest, n) {
			return a, true
		}
	}
	if a.Files = filesOf(p.rest); len(a.Files) > 0 {
		p.skip(filesHead + "\n- " + strings.Join(a.Files, "\n- "))
	}
	return a, true
}

// skip skips a part and the blank line after it, and reports whether there is more.
func (p *questionParser) skip(part string) bool {
	rest := strings.TrimPrefix(p.rest, part)
	p.rest = strings.TrimPrefix(rest, blankLine)
	return len(p.rest) < len(rest)
}

// beginsNext reports whether rest begins with the message after number n, or is a note.
func (p *questionParser) beginsNext(rest string, n int) bool {
	if _, last := (&questionParser{rest: rest}).trailingNote(); last {
		return true
	}
	_, _, ok := parseHeading(rest, n+1)
	return p.kind != chat.Private && ok
}

// textEnd is the end of the text at the start of rest: before any line of ours. The text of forwarded messages ends at
// the first blank line.
func (p *questionParser) textEnd(n int, passedOn bool) int {
	for end := 0; ; end++ {
		i := strings.Index(p.rest[end:], blankLine)
		if i < 0 {
			return len(p.rest)
		}
		end += i
		rest := p.rest[end+len(blankLine):]
		_, quoted := parseQuote(rest)
		if passedOn || quoted || p.beginsNext(rest, n) || len(filesOf(rest)) > 0 || isForward(rest) {
			return end
		}
	}
}

// trailingNote returns the rest if it is a note of ours.
func (p *questionParser) trailingNote() (string, bool) {
	return p.rest, classify(p.rest) == lineNote && !strings.Contains(p.rest, "\n")
}

// parseQuote reads the quote at the start of text.
func parseQuote(text string) (q Quote, ok bool) {
	head, rest, more := strings.Cut(text, "\n")
	if head == quoteMissing {
		return Quote{Missing: true}, true
	}
	who, ok := strings.CutPrefix(head, quoteHead)
	if ok {
		who, ok = strings.CutSuffix(who, quoteTail)
	}
	if !ok {
		return q, false
	}
	if who != assistantWord {
		q.Name = strings.TrimPrefix(strings.TrimSuffix(who, " "), " ")
		if name, ok := strings.CutPrefix(q.Name, userWord+"("); ok {
			q.Name = strings.TrimSuffix(name, ")")
		}
	}
	var lines []string
	for more {
		var line string
		line, rest, more = strings.Cut(rest, "\n")
		said, ok := strings.CutPrefix(line, quoteMark)
		if !ok {
			break
		}
		if plain, escaped := strings.CutPrefix(said, `\`); escaped && headsQuote(plain) {
			said = plain
		}
		lines = append(lines, said)
	}
	q.Text = strings.Join(lines, "\n")
	return q, q.heading() == head && q.Name == cleanName(q.Name)
}

// filesOf reads the list of files at the start of text.
func filesOf(text string) (files []string) {
	rest, ok := strings.CutPrefix(text, filesHead+"\n- ")
	if !ok {
		return nil
	}
	list, _, _ := strings.Cut(rest, blankLine)
	return strings.Split(list, "\n- ")
}
