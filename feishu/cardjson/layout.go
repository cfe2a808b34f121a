package cardjson

import "strings"

// Layout is how a text that grows is divided into pages. Pages that are full stay as they are while the text begins
// with what they hold, so only the rest is looked at again: a long answer is drawn some thousand times.
type Layout struct {
	full  []string // pages as they are drawn
	held  string   // the text that they hold
	carry string   // opens again what the last of them had to close
	last  page
}

// Pages divides a text, and gives the pages as they are drawn.
func (l *Layout) Pages(text string) []string {
	if !strings.HasPrefix(text, l.held) {
		*l = Layout{}
	}
	ps := splitAfter(l.carry, text[len(l.held):], pageSize)
	l.take(text, ps)
	return append(l.full[:len(l.full):len(l.full)], ps[len(ps)-1].drawn())
}

func (l *Layout) take(text string, ps []page) {
	n := len(ps) - 1
	for _, p := range ps[:n] {
		l.full = append(l.full, p.drawn())
	}
	l.last = ps[n]
	l.held, l.carry = text[:len(text)-len(l.last.text)], l.last.carry
}

// EndPage ends the last page before the text that came last, its last line, if the page has more than that.
func (l *Layout) EndPage() {
	p := l.last
	end := lastBorder(p.carry, strings.TrimSuffix(p.text, "\n"))
	if end == 0 {
		return
	}
	ended := page{carry: p.carry, text: p.text[:end]}
	ended.tail, l.carry = seam(ended.carry+ended.text, p.text[end:], pageSize)
	l.full = append(l.full, ended.drawn())
	l.last = page{carry: l.carry, text: p.text[end:]}
	l.held += ended.text
}
