package redact

import "strings"

// maxDigits is the maximum length of a telephone number with its country code (E.164).
const maxDigits = 15

// phones finds telephone numbers: with a country code in every form, Chinese and North American ones also without, and
// any number after a keyword.
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
		if !numberStarts(text, start) || isFraction(text, runs[i]) || !plus && precededBy(text, start, orderWords) {
			continue
		}
		c := candidate{text, runs, i, plus}
		if j := c.longestEnd(); j >= 0 {
			// A parenthesis that is not closed within the number belongs to the sentence.
			if text[start] == '(' && !c.closesBracket(j) {
				start++
			}
			found = append(found, span{start, runs[j].end, Phone})
			i = j
		}
	}
	return found
}

// candidate is a possible telephone number that starts with run i.
type candidate struct {
	text []byte
	runs []run
	i    int
	plus bool
}

// longestEnd is the last run of the longest number that starts here; -1 = none.
func (c candidate) longestEnd() int {
	best, other := -1, -1 // other is a number in no known format
	var d []byte
	var groups []int
	for j := c.i; j < len(c.runs) && (j == c.i || c.runs[j].gap != unrelated); j++ {
		if d = appendDigits(d, c.text, c.runs[j]); len(d) > maxDigits || len(groups) == maxGroups {
			break
		}
		groups = append(groups, c.runs[j].len())
		if len(d) < fewestDigits || !numberEnds(c.text, c.runs[j].end) {
			continue
		}
		if c.isPhone(string(d), groups, j) {
			best = j
		}
		if enough := other >= 0 && len(d) > fullDigits; !enough && (len(d) != 8 || !validDate(string(d))) {
			other = j
		}
	}
	if best < 0 && other >= 0 && !c.plus && precededBy(c.text, c.runs[c.i].start, phoneWords) {
		return other
	}
	return best
}

// Limits of a number without a known format, which only its keyword identifies: groups are added until it is complete.
const (
	fewestDigits = 7
	fullDigits   = 10
	maxGroups    = 7
)

// closesBracket reports whether the bracket before the number is closed within it.
func (c candidate) closesBracket(j int) bool {
	for _, b := range c.text[c.runs[c.i].start:c.runs[j].end] {
		if b == ')' {
			return true
		}
	}
	return false
}

// isPhone reports whether the runs up to j form a number in a known format.
func (c candidate) isPhone(d string, groups []int, j int) bool {
	if c.plus {
		return isInternational(d)
	}
	sep := unrelated
	if j > c.i {
		sep = c.runs[j].gap
	}
	switch {
	case len(d) == 15 && d[:4] == "0086" && isMobile(d[4:]), len(d) == 13 && d[:2] == "86" && isMobile(d[2:]):
		return true
	case isMobile(d) && (hasLengths(groups, 11) || hasLengths(groups, 3, 4, 4) ||
		hasLengths(groups, 3, 8) && sep == hyphened):
		return true
	case isLandline(d, groups):
		return true
	}
	return c.isAmerican(d, groups, j)
}

// phoneWords announce a telephone number.
var phoneWords = []string{
	"电话", "手机", "座机", "传真", "phone", "telephone", "tel", "mobile", "cell", "cellphone", "fax", "whatsapp",
}

// orderWords announce a number that only looks like a telephone number.
var orderWords = []string{"订单", "运单", "快递", "工单", "单号", "流水", "编号", "order", "invoice", "ticket", "tracking"}

// hasLengths reports whether the groups have exactly these lengths.
func hasLengths(groups []int, want ...int) bool {
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

// isMobile reports whether digits are a mobile number of China. The exception is 2 to the 34th, which occurs in
// programs.
func isMobile(d string) bool { return len(d) == 11 && d[0] == '1' && d[1] >= '3' && d != "17179869184" }

// isLandline reports whether digits are a Chinese area code and a number: 010-12345678, 0571 8888 6666.
func isLandline(d string, groups []int) bool {
	if len(groups) < 2 || d[0] != '0' || len(d) < 10 || len(d) > 12 {
		return false
	}
	area := 4
	if d[1] == '1' || d[1] == '2' {
		area = 3
	}
	rest := len(d) - area
	return d[1] != '0' && groups[0] == area && d[area] >= '2' && (rest == 7 || rest == 8) &&
		(len(groups) == 2 || len(groups) == 3 && groups[2] == 4)
}

// isAmerican reports whether digits are a North American number: 415-555-2671. With hyphens or brackets the format is
// enough, since fictitious numbers are often written so.
func (c candidate) isAmerican(d string, groups []int, j int) bool {
	if hasLengths(groups, 1, 3, 3, 4) && d[0] == '1' {
		d, groups = d[1:], groups[1:]
	}
	if !hasLengths(groups, 3, 3, 4) {
		return false
	}
	switch first, last := c.runs[j-1].gap, c.runs[j].gap; {
	case first == bracketed || first == hyphened && last == hyphened:
		return true
	case first == dotted && last == dotted:
		return d[0] >= '2'
	}
	return isNANP(d) && standsAlone(c.runs, c.i, j)
}

// isNANP reports whether ten digits follow the North American numbering plan.
func isNANP(d string) bool { return d[0] >= '2' && d[1] != '9' && d[3] >= '2' }

// isInternational reports whether digits after a plus sign are a telephone number.
func isInternational(d string) bool {
	switch {
	case d[0] == '0' || len(d) > maxDigits:
		return false
	case d[0] == '1':
		return len(d) == 11 && d[1] >= '2'
	case d[:2] == "86":
		rest := strings.TrimPrefix(d[2:], "0") // of the area, omitted in calls from abroad
		return isMobile(rest) || len(rest) >= 9 && len(rest) <= 11 && rest[0] != '1' ||
			len(rest) == 10 && rest[:2] == "10"
	case d[0] == '7':
		return len(d) == 11
	}
	return len(d) >= 9
}
