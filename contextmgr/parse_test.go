package contextmgr

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"magpie/internal/chat"
)

// Reading back what Prefix and Question.Text write shows that nothing in a message can pass for a part of a prompt.

// parsePrefix parses exactly what [Prefix] wrote. ok reports whether prompt begins with a prefix that only Prefix can
// have written. Otherwise current is the whole prompt. [parseQuestion] parses the question.
func parsePrefix(prompt string) (msgs []Parsed, current string, ok bool) {
	lang := langOf(prompt)
	rest, ok := strings.CutPrefix(prompt, head(lang))
	for ok && (len(msgs) == 0 || !strings.HasPrefix(rest, questionHead(lang))) {
		var m Parsed
		if m, rest, ok = parseMessage(rest, len(msgs)+1, lang); ok {
			ok = len(msgs) == 0 || follows(msgs[len(msgs)-1].Part, m.Part)
			msgs = append(msgs, m)
		}
	}
	current = strings.TrimPrefix(rest, questionHead(lang))
	if !ok || !utf8.ValidString(prompt) || render(msgs, current, lang) != prompt {
		return nil, prompt, false
	}
	return msgs, current, true
}

// bothLanguages are those of prompts.
var bothLanguages = []string{"zh", english}

// langOf is the language of a prompt with a prefix.
func langOf(prompt string) string {
	if strings.HasPrefix(prompt, head(english)) {
		return english
	}
	return "zh"
}

// follows reports whether an entry of part next may come after one of part before. Overheard messages may be among the
// retrieved ones.
func follows(before, next Part) bool {
	return before < next || before == next && next != Summed || before == Retrieved && next == Overheard
}

// parseMessage reads message n at the start of s, up to the next message or the question.
func parseMessage(s string, n int, lang string) (m Parsed, rest string, ok bool) {
	m, s, ok = parseHeading(s, n, lang)
	if !ok {
		return m, s, false
	}
	for end := 0; ; end++ {
		i := strings.Index(s[end:], "\n\n")
		if i < 0 {
			return m, s, false
		}
		end += i
		rest = s[end+len("\n\n"):]
		// An empty line may also be inside a message; only a heading with the next number ends it, and such a
		// line inside a message is escaped.
		if _, _, more := parseHeading(rest, n+1, lang); more || strings.HasPrefix(rest, questionHead(lang)) {
			m.Text = unescape(s[:end], reservedInHistory)
			return m, rest, true
		}
	}
}

// parseHeading reads the heading of entry n at the start of s.
func parseHeading(s string, n int, lang string) (m Parsed, rest string, ok bool) {
	whole := s
	s, ok = strings.CutPrefix(s, "## ["+strconv.Itoa(n)+"] ")
	if !ok {
		return m, s, false
	}
	line, rest, ok := strings.Cut(s, ":\n")
	if !ok {
		return m, s, false
	}
	if at := strings.LastIndex(line, " ("); at >= 0 && isDate(strings.TrimSuffix(line[at+2:], ")")) &&
		strings.HasSuffix(line, ")") {
		m.Date, line = line[at+2:len(line)-1], line[:at]
	}
	if at := strings.Index(line, "("); at >= 0 && strings.HasSuffix(line, ")") {
		m.Name, line = line[at+1:len(line)-1], line[:at]
	}
	switch line {
	case userWord.in(lang), assistantWord.in(lang):
		m.Part = Recent
		if m.Date != "" {
			m.Part = Retrieved
		}
		m.Role = chat.User
		if line == assistantWord.in(lang) {
			m.Role = chat.Assistant
		}
	case overheardWord.in(lang):
		m.Part, m.Role = Overheard, chat.User
	case memoryWord.in(lang):
		m.Part = Remembered
	case summaryWord.in(lang):
		m.Part = Summed
	default:
		return m, s, false
	}
	// Writing the heading again must give the same line: anything that this package cannot have written is rejected.
	return m, rest, m.Name == cleanName(m.Name) && (m.Name == "" || m.Role == chat.User) &&
		heading(n, m, lang) == whole[:len(whole)-len(rest)]
}

// isDate reports whether s is a day as in headings.
func isDate(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// unescape removes the backslashes that escape has added.
func unescape(text string, forged func(line) bool) string {
	return eachLine(text, func(l string) (string, string) {
		if rest, ok := strings.CutPrefix(l, `\`); ok && forged(classify(strings.TrimLeft(rest, `\`))) {
			return "", rest
		}
		return "", l
	})
}

// parseQuestion parses exactly what [Question.Text] wrote for a chat of this kind. ok reports whether text can have
// come from there.
func parseQuestion(text string, kind chat.Kind, lang string) (q Question, ok bool) {
	q.Lang = lang
	p := questionParser{rest: text, kind: kind, lang: lang}
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
	lang string
}

// readMessage reads message n.
func (p *questionParser) readMessage(n int) (a AskedMessage, ok bool) {
	if p.kind != chat.Private {
		e, rest, ok := parseHeading(p.rest, n, p.lang)
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
		q, found := parseQuote(p.rest, p.lang)
		if !found {
			break
		}
		a.Quotes = append(a.Quotes, q)
		if !p.skip(q.render(p.lang)) || p.beginsNext(p.rest, n) {
			return a, true
		}
	}
	if files := filesOf(p.rest, p.lang); len(files) == 0 {
		a.Forwarded = isForward(p.rest)
		text := p.rest[:p.textEnd(n, a.Forwarded)]
		a.Text = a.unescaped(text)
		if !p.skip(text) || p.beginsNext(p.rest, n) {
			return a, true
		}
	}
	if a.Files = filesOf(p.rest, p.lang); len(a.Files) > 0 {
		p.skip(filesHead.in(p.lang) + "\n- " + strings.Join(a.Files, "\n- "))
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
	_, _, ok := parseHeading(rest, n+1, p.lang)
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
		_, quoted := parseQuote(rest, p.lang)
		if passedOn || quoted || p.beginsNext(rest, n) || len(filesOf(rest, p.lang)) > 0 || isForward(rest) {
			return end
		}
	}
}

// trailingNote returns the rest if it is a note of ours.
func (p *questionParser) trailingNote() (string, bool) {
	return p.rest, classify(p.rest) == lineNote && !strings.Contains(p.rest, "\n")
}

// parseQuote reads the quote at the start of text.
func parseQuote(text, lang string) (q Quote, ok bool) {
	head, rest, more := strings.Cut(text, "\n")
	if head == quoteMark+quoteMissing.in(lang) {
		return Quote{Missing: true}, true
	}
	if head != q.heading(lang) {
		before, after, _ := strings.Cut(quoteMark+quoteOfPerson.in(lang), "%s")
		name, begins := strings.CutPrefix(head, before)
		name, ends := strings.CutSuffix(name, after)
		if !begins || !ends {
			return q, false
		}
		q.Name = name
		if name, ok := strings.CutPrefix(q.Name, userWord.in(lang)+"("); ok {
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
	return q, q.heading(lang) == head && q.Name == cleanName(q.Name)
}

// filesOf reads the list of files at the start of text.
func filesOf(text, lang string) (files []string) {
	rest, ok := strings.CutPrefix(text, filesHead.in(lang)+"\n- ")
	if !ok {
		return nil
	}
	list, _, _ := strings.Cut(rest, blankLine)
	return strings.Split(list, "\n- ")
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
