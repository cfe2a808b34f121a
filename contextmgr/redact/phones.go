package redact

import "strings"

// mostDigits is how long a telephone number can be with its country (E.164).
const mostDigits = 15

// phones finds telephone numbers: with a country in every form, Chinese and North American ones also without, and any
// that is announced.
func phones(text []byte, runs []run) []span {
	var found []span
	for i := 0; i < len(runs); i++ {
		start := runs[i].start
		plus := before(text, start) == '+'
		if plus {
			start--
		}
		if before(text, start) == '(' {
			start--
		}
		if !numberStarts(text, start) || fraction(text, runs[i]) || !plus && announced(text, start, orderWords) {
			continue
		}
		c := candidate{text, runs, i, plus}
		if j := c.longest(); j >= 0 {
			if text[start] == '(' && !c.closes(j) {
				start++
			}
			found = append(found, span{start, runs[j].end, Phone})
			i = j
		}
	}
	return found
}

// candidate is what may be a telephone number that starts with run i.
type candidate struct {
	text []byte
	runs []run
	i    int
	plus bool
}

// longest is the last run of the longest number that starts here; -1 = none does.
func (c candidate) longest() int {
	best, other := -1, -1 // other is a number of no known form
	var d []byte
	var groups []int
	for j := c.i; j < len(c.runs) && (j == c.i || c.runs[j].gap != apart); j++ {
		if d = appendDigits(d, c.text, c.runs[j]); len(d) > mostDigits || len(groups) == mostGroups {
			break
		}
		groups = append(groups, c.runs[j].len())
		if len(d) < fewestDigits || !numberEnds(c.text, c.runs[j].end) {
			continue
		}
		if c.phone(string(d), groups, j) {
			best = j
		}
		if enough := other >= 0 && len(d) > fullDigits; !enough && (len(d) != 8 || !date(string(d))) {
			other = j
		}
	}
	if best < 0 && other >= 0 && !c.plus && announced(c.text, c.runs[c.i].start, phoneWords) {
		return other
	}
	return best
}

// Of a number that is known only by a word in front of it, as many groups are taken as make a whole one.
const (
	fewestDigits = 7
	fullDigits   = 10
	mostGroups   = 7
)

// closes reports whether the bracket in front of the number is closed within it.
func (c candidate) closes(j int) bool {
	for _, b := range c.text[c.runs[c.i].start:c.runs[j].end] {
		if b == ')' {
			return true
		}
	}
	return false
}

// phone reports whether the runs up to j are a number in one of the known forms.
func (c candidate) phone(d string, groups []int, j int) bool {
	if c.plus {
		return international(d)
	}
	sep := apart
	if j > c.i {
		sep = c.runs[j].gap
	}
	switch {
	case len(d) == 15 && d[:4] == "0086" && mobile(d[4:]), len(d) == 13 && d[:2] == "86" && mobile(d[2:]):
		return true
	case mobile(d) && (shaped(groups, 11) || shaped(groups, 3, 4, 4) || shaped(groups, 3, 8) && sep == hyphened):
		return true
	case landline(d, groups):
		return true
	}
	return c.american(d, groups, j)
}

// phoneWords say that a number to call follows.
var phoneWords = []string{"电话", "手机", "座机", "传真", "phone", "telephone", "tel", "mobile", "cell", "cellphone", "fax", "whatsapp"}

// orderWords say that a number follows that only looks like one to call.
var orderWords = []string{"订单", "运单", "快递", "工单", "单号", "流水", "编号", "order", "invoice", "ticket", "tracking"}

func shaped(groups []int, want ...int) bool {
	if len(groups) != len(want) {
		return false
	}
	for i, n := range want {
		if groups[i] != n {
			return false
		}
	}
	return true
}

// mobile reports whether digits are a mobile number of China. Programs know one of them as 2 to the 34th.
func mobile(d string) bool { return len(d) == 11 && d[0] == '1' && d[1] >= '3' && d != "17179869184" }

// landline reports whether digits are an area of China and a number there: 010-12345678, 0571 8888 6666.
func landline(d string, groups []int) bool {
	if len(groups) < 2 || d[0] != '0' || len(d) < 10 || len(d) > 12 {
		return false
	}
	area := 4
	if d[1] == '1' || d[1] == '2' {
		area = 3
	}
	rest := len(d) - area
	return d[1] != '0' && groups[0] == area && d[area] >= '2' && (rest == 7 || rest == 8) && (len(groups) == 2 || len(groups) == 3 && groups[2] == 4)
}

// american reports whether digits are a number of North America: 415-555-2671. With hyphens or brackets its form says
// enough, and numbers that are nobody's are often written so.
func (c candidate) american(d string, groups []int, j int) bool {
	if shaped(groups, 1, 3, 3, 4) && d[0] == '1' {
		d, groups = d[1:], groups[1:]
	}
	if !shaped(groups, 3, 3, 4) {
		return false
	}
	switch first, last := c.runs[j-1].gap, c.runs[j].gap; {
	case first == braced || first == hyphened && last == hyphened:
		return true
	case first == dotted && last == dotted:
		return d[0] >= '2'
	}
	return nanp(d) && alone(c.runs, c.i, j)
}

// nanp reports whether ten digits follow the numbering plan of North America.
func nanp(d string) bool { return d[0] >= '2' && d[1] != '9' && d[3] >= '2' }

// international reports whether digits behind a plus sign are a telephone number.
func international(d string) bool {
	switch {
	case d[0] == '0' || len(d) > mostDigits:
		return false
	case d[0] == '1':
		return len(d) == 11 && d[1] >= '2'
	case d[:2] == "86":
		rest := strings.TrimPrefix(d[2:], "0") // of the area, which is not dialled from abroad
		return mobile(rest) || len(rest) >= 9 && len(rest) <= 11 && rest[0] != '1' || len(rest) == 10 && rest[:2] == "10"
	case d[0] == '7':
		return len(d) == 11
	}
	return len(d) >= 9
}
