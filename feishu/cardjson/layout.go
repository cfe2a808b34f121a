package cardjson

import "strings"

// Layout divides a growing text into pages. Full pages stay as they are while the text still begins with their content,
// so only the rest is processed again: a long answer is drawn about a thousand times.
type Layout struct {
	full     []string // pages as drawn
	fullText string   // the text of the full pages
	carry    string   // reopens what the last full page had to close
	last     page
}

// Pages divides a text and returns the pages as drawn.
func (l *Layout) Pages(text string) []string {
	if !strings.HasPrefix(text, l.fullText) {
		*l = Layout{}
	}
	ps := splitAfter(l.carry, text[len(l.fullText):], pageSize)
	l.storeFull(text, ps)
	// The capacity is cut so that append copies: the full pages stay in l.full without the last one.
	return append(l.full[:len(l.full):len(l.full)], ps[len(ps)-1].render())
}

// storeFull stores all pages but the last one as full: they cannot change any more.
func (l *Layout) storeFull(text string, ps []page) {
	n := len(ps) - 1
	for _, p := range ps[:n] {
		l.full = append(l.full, p.render())
	}
	l.last = ps[n]
	l.fullText, l.carry = text[:len(text)-len(l.last.text)], l.last.carry
}

// EndPage ends the last page before its last line, if the page has more than that. So text that comes next starts a new
// page.
func (l *Layout) EndPage() {
	p := l.last
	end := lastPageBreak(p.carry, strings.TrimSuffix(p.text, "\n"))
	if end == 0 {
		return
	}
	ended := page{carry: p.carry, text: p.text[:end]}
	ended.tail, l.carry = splitSeam(ended.carry+ended.text, p.text[end:], pageSize)
	l.full = append(l.full, ended.render())
	l.last = page{carry: l.carry, text: p.text[end:]}
	l.fullText += ended.text
}
