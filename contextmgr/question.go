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

// Question is what is asked now: all that waits for an answer, with what belongs to it. It is the last part of a
// prompt, and all that a living process gets.
type Question struct {
	Asked []Asked // in order; several messages of a private chat with nothing in between are one
	Note  string  // a line of our own below them; empty = none
}

// Asked is a message that is asked now.
type Asked struct {
	Name      string  // of who asks, in groups and when known
	Quotes    []Quote // what it answers
	Text      string
	Forwarded bool     // the text lists what others have said
	Files     []string // what came with it, and where each lies
}

// Quote is a message that another one answers.
type Quote struct {
	Name    string // of who wrote it; empty = the agent
	Text    string // without blank lines
	Missing bool   // it cannot be read
}

// The words around the questions. What is written with them is parsed back by [ParseQuestion], so they never change
// alone.
const (
	quoteMark    = "> "
	quoteHead    = quoteMark + "引用"
	quoteTail    = "的消息："
	quoteMissing = quoteMark + "（引用的消息无法读取）"
	filesHead    = "附件："
	ofTheQuote   = "引用的消息里的"
	blankLine    = "\n\n"
)

var passedOnMark = chat.Mark(chat.Forwarded.Word(), "")

// questionOf gathers what is asked with r.
func questionOf(r Request) Question {
	q := Question{Note: oneLine(r.Note)}
	for _, m := range r.Asked {
		q.Asked = append(q.Asked, enclosed(m, r.Kind))
	}
	return q.joined(r.Kind)
}

// joined is q with messages made one between which nobody can tell.
func (q Question) joined(kind chat.Kind) Question {
	if kind != chat.Private {
		return q
	}
	var list []Asked
	for _, a := range q.Asked {
		last := len(list) - 1
		switch {
		case a.Text == "" && len(a.Quotes)+len(a.Files) == 0: // it says nothing
		case last >= 0 && list[last].goesOnWith(a):
			list[last] = list[last].with(a)
		default:
			list = append(list, a)
		}
	}
	q.Asked = list
	return q
}

// goesOnWith says whether nothing tells a and b, which follows it, from one message.
func (a Asked) goesOnWith(b Asked) bool {
	switch {
	case len(a.Files) > 0:
		return false
	case a.Text == "":
		return true
	}
	return len(b.Quotes) == 0 && (b.Text == "" || !a.Forwarded && !b.Forwarded)
}

// with is a and b as one message.
func (a Asked) with(b Asked) Asked {
	if a.Text != "" && b.Text != "" {
		a.Text += blankLine
	}
	a.Text += b.Text
	a.Forwarded = a.Forwarded || b.Forwarded
	a.Quotes, a.Files = slices.Concat(a.Quotes, b.Quotes), b.Files
	return a
}

// Text is q as the agent gets it. In a group every message stands below a heading that says whose it is, as in the
// History. A plain question of a private chat is just its text. What others have written stands behind a mark in every
// line.
//
// A message can forge none of that: a line which looks like one of ours gets a backslash in front.
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

// entry is a as its heading shows it.
func (a Asked) entry() Parsed { return Parsed{Part: Recent, Role: chat.User, Name: a.Name} }

// parts are a's quotes, its text, and its files.
func (a Asked) parts() []string {
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

// escaped is a's text without forged lines. Below a quote, the first line cannot go on with that either.
func (a Asked) escaped() string {
	text := escape(a.Text, ofQuestion)
	switch {
	case a.Forwarded:
		return strings.TrimPrefix(text, `\`) // the mark is ours
	case len(a.Quotes) > 0 && goesOn(text):
		return `\` + text
	}
	return text
}

// unescaped restores a.Text from what escaped has made of it.
func (a Asked) unescaped(text string) string {
	if rest, ok := strings.CutPrefix(text, `\`); ok && !a.Forwarded && len(a.Quotes) > 0 && goesOn(rest) {
		text = rest
	} else if a.Forwarded {
		text = `\` + text
	}
	return unescape(text, ofQuestion)
}

// goesOn says whether text begins with a line that seems to belong to a quote above it.
func goesOn(text string) bool { return classify(strings.TrimLeft(text, `\`)) == lineQuoted }

func (q Quote) String() string {
	switch {
	case q.Missing:
		return quoteMissing
	case q.Text == "":
		return q.head()
	}
	var b strings.Builder
	b.WriteString(q.head())
	for line := range strings.SplitSeq(q.Text, "\n") {
		b.WriteString("\n" + quoteMark)
		if headsQuote(line) { // a quote within the quote would be of somebody else
			b.WriteString(`\`)
		}
		b.WriteString(line)
	}
	return b.String()
}

// headsQuote says whether a line of a quote reads as the first one of another.
func headsQuote(line string) bool {
	return classify(quoteMark+strings.TrimLeft(line, `\`)) == lineQuote
}

func (q Quote) head() string {
	who := assistantWord
	if q.Name != "" {
		who = " " + q.shownName() + " "
	}
	return quoteHead + who + quoteTail
}

// shownName is the name of a person, who may have chosen that of the agent.
func (q Quote) shownName() string {
	r := reader{rest: q.Name}
	r.next()
	if r.takeAny([]string{assistantWord, "助理", "assistant"}) || strings.HasPrefix(q.Name, userWord+"(") {
		return userWord + "(" + q.Name + ")"
	}
	return q.Name
}

// enclosed is a message with what belongs to it.
func enclosed(m chat.Message, kind chat.Kind) Asked {
	a := Asked{Name: speaker(m, kind), Text: strings.TrimSpace(valid(m.Text))}
	quoted := ""
	pictures := map[string]int{} // by the message that holds them
	for _, f := range m.Files {
		switch {
		case f.Kind == chat.Quote:
			quoted = f.Of
			a.Quotes = append(a.Quotes, quote(f))
		case f.Kind == chat.Forwarded && f.State == chat.Here: // it is in the text
		default:
			if f.Kind == chat.Picture {
				pictures[f.Of]++
			}
			line := ""
			if f.Of == quoted {
				line = ofTheQuote
			}
			a.Files = append(a.Files, oneLine(line+called(f, pictures[f.Of])+whereabouts(f)))
		}
	}
	forwards := func(f chat.File) bool { return f.Kind == chat.Forwarded }
	if slices.ContainsFunc(m.Files, forwards) {
		if list := unspaced(a.Text); passesOn(list) {
			a.Forwarded, a.Text = true, list
		}
	}
	return a
}

// unspaced is a text without blank lines.
func unspaced(s string) string {
	return strings.Join(strings.FieldsFunc(valid(s), text.IsLineBreak), "\n")
}

// passesOn says whether text begins with our line above what was passed on.
func passesOn(text string) bool {
	first, _, _ := strings.Cut(text, "\n")
	return first == passedOnMark
}

func quote(f chat.File) Quote {
	if f.State != chat.Here {
		return Quote{Missing: true}
	}
	return Quote{Name: cleanName(f.Name), Text: unspaced(f.Said)}
}

func called(f chat.File, number int) string {
	if f.Kind == chat.Picture {
		return chat.Mark(f.Kind.Word(), fmt.Sprint(number))
	}
	return chat.Mark(f.Kind.Word(), safepath.FileName(f.Name))
}

func whereabouts(f chat.File) string {
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

// oneLine is a text with its lines made one.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(valid(s), text.IsLineBreak), " ")
}

// ParseQuestion reads back what [Question.Text] wrote for a chat of this kind, exactly: ok says whether text could have
// come from there.
func ParseQuestion(text string, kind chat.Kind) (q Question, ok bool) {
	p := parts{rest: text, kind: kind}
	for p.rest != "" {
		if note, last := p.note(); last {
			q.Note = note
			break
		}
		a, ok := p.asked(len(q.Asked) + 1)
		if !ok {
			return Question{}, false
		}
		q.Asked = append(q.Asked, a)
	}
	if !utf8.ValidString(text) || q.Text(kind) != text {
		return Question{}, false
	}
	return q, true
}

// parts reads the text of a [Question] one part at a time.
type parts struct {
	rest string
	kind chat.Kind
}

// asked reads the message with number n.
func (p *parts) asked(n int) (a Asked, ok bool) {
	if p.kind != chat.Private {
		e, rest, ok := parseHeading(p.rest, n)
		if !ok || e.Part != Recent || e.Role != chat.User {
			return a, false
		}
		a.Name = e.Name
		if rest, empty := strings.CutPrefix(rest, blankLine); empty && p.next(rest, n) {
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
		if !p.skip(q.String()) || p.next(p.rest, n) {
			return a, true
		}
	}
	if files := filesOf(p.rest); len(files) == 0 {
		a.Forwarded = passesOn(p.rest)
		text := p.rest[:p.textEnd(n, a.Forwarded)]
		a.Text = a.unescaped(text)
		if !p.skip(text) || p.next(p.rest, n) {
			return a, true
		}
	}
	if a.Files = filesOf(p.rest); len(a.Files) > 0 {
		p.skip(filesHead + "\n- " + strings.Join(a.Files, "\n- "))
	}
	return a, true
}

// skip reads over a part and the blank line behind it, and says whether there is more.
func (p *parts) skip(part string) bool {
	rest := strings.TrimPrefix(p.rest, part)
	p.rest = strings.TrimPrefix(rest, blankLine)
	return len(p.rest) < len(rest)
}

// next says whether the message after number n begins with rest, or a note.
func (p *parts) next(rest string, n int) bool {
	if _, last := (&parts{rest: rest}).note(); last {
		return true
	}
	_, _, ok := parseHeading(rest, n+1)
	return p.kind != chat.Private && ok
}

// textEnd is where the text ends that stands at the beginning: in front of anything of ours. Of what was passed on, it
// is the first blank line.
func (p *parts) textEnd(n int, passedOn bool) int {
	for end := 0; ; end++ {
		i := strings.Index(p.rest[end:], blankLine)
		if i < 0 {
			return len(p.rest)
		}
		end += i
		rest := p.rest[end+len(blankLine):]
		_, quoted := parseQuote(rest)
		if passedOn || quoted || p.next(rest, n) || len(filesOf(rest)) > 0 || passesOn(rest) {
			return end
		}
	}
}

// note is what is left, when it is a line of our own.
func (p *parts) note() (string, bool) {
	return p.rest, classify(p.rest) == lineNote && !strings.Contains(p.rest, "\n")
}

// parseQuote reads the quote that text begins with.
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
	return q, q.head() == head && q.Name == cleanName(q.Name)
}

// filesOf reads the list of files that text begins with.
func filesOf(text string) (files []string) {
	rest, ok := strings.CutPrefix(text, filesHead+"\n- ")
	if !ok {
		return nil
	}
	list, _, _ := strings.Cut(rest, blankLine)
	return strings.Split(list, "\n- ")
}
