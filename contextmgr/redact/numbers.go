package redact

import (
	"bytes"
	"regexp"
	"strings"
)

// run is a run of digits. A number may consist of several runs, joined by spaces or hyphens.
type run struct {
	start, end int
	gap        gap // to the previous run
}

func (r run) len() int { return r.end - r.start }

// gap is the separator between two runs.
type gap uint8

const (
	unrelated gap = iota // not parts of one number
	spaced               // one or two spaces
	hyphened             // a hyphen, perhaps with spaces
	dotted               // a full stop
	bracketed            // a bracket: (010) 1234 5678
)

// plain reports whether identity and card numbers may be written with this gap.
func (g gap) plain() bool { return g == spaced || g == hyphened }

// runsOf lists the runs of digits in a text.
func runsOf(text []byte) []run {
	var runs []run
	for i := 0; i < len(text); i++ {
		if !isDigit(text[i]) {
			continue
		}
		r := run{start: i}
		for i < len(text) && isDigit(text[i]) {
			i++
		}
		r.end = i
		if n := len(runs); n > 0 {
			r.gap = gapOf(text[runs[n-1].end:r.start])
		}
		runs = append(runs, r)
	}
	return runs
}

// gapOf classifies the text between two runs.
func gapOf(between []byte) gap {
	if len(between) > 3 {
		return unrelated
	}
	switch string(between) {
	case " ", "  ":
		return spaced
	case "-", " -", "- ", " - ":
		return hyphened
	case ".":
		return dotted
	case ")", ") ", ")-", "(", " (", "-(", ") (":
		return bracketed
	}
	return unrelated
}

// numbers finds numeric data. All finds of one kind are recorded before the next kind is searched.
func (s *scan) numbers() {
	for _, kind := range []struct {
		kinds Policy
		find  func(text []byte, runs []run) []span
	}{
		{CNID, identityNumbers}, {BankCard | CreditCard, cards}, {SSN, socialSecurityNumbers}, {Phone, phones},
	} {
		if !s.policy.has(kind.kinds) {
			continue
		}
		for _, f := range kind.find(s.plain, runsOf(s.plain)) {
			if s.policy.has(f.kind) {
				s.recordMatch(f.kind, f.start, f.end)
			}
		}
	}
}

// isFraction reports whether the run follows a decimal point.
func isFraction(text []byte, r run) bool {
	return before(text, r.start) == '.' && isDigit(before(text, r.start-1))
}

// appendDigits appends the digits of a run.
func appendDigits(d []byte, text []byte, r run) []byte { return append(d, text[r.start:r.end]...) }

// identityNumbers finds resident identity numbers of China (GB 11643): six digits for the region, the date of birth,
// three digits, and a check digit that may be X. A random number hardly ever passes, whatever the grouping.
func identityNumbers(text []byte, runs []run) []span {
	const length = 18
	var found []span
	var d []byte
	for i := range runs {
		d = d[:0]
		for j := i; j < len(runs) && (j == i || runs[j].gap.plain()); j++ {
			if d = appendDigits(d, text, runs[j]); len(d) > length {
				break
			}
			if i == j && isFraction(text, runs[i]) {
				continue
			}
			// The last place may be an X, which is not a digit.
			stop := runs[j].end
			if len(d) == length-1 {
				if stop = checkX(text, stop); stop == 0 {
					continue
				}
			}
			if len(d) >= length-1 && validIdentity(d) {
				found = append(found, span{runs[i].start, stop, CNID})
			}
		}
	}
	// Until 1999 identity numbers had 15 digits, without century and check digit.
	for _, m := range oldIdentity.FindAllSubmatchIndex(text, -1) {
		if d := text[m[2]:m[3]]; !isDigit(at(text, m[3])) && validRegion(d) && validDate("19"+string(d[6:12])) {
			found = append(found, span{m[2], m[3], CNID})
		}
	}
	return found
}

// oldIdentity is the format issued until 1999. It has no check digit, so a keyword must precede it.
var oldIdentity = regexp.MustCompile(`身份证(?:号码|号)?[ ]?[:=]?(?:是|为)?[ ]?([0-9]{15})`)

// checkX is the end of the check digit X after position i; 0 = none.
func checkX(text []byte, i int) int {
	x := i
	for at(text, x) == ' ' || at(text, x) == '-' {
		x++
	}
	if x > i && !gapOf(text[i:x]).plain() || at(text, x)|0x20 != 'x' || isAlnum(at(text, x+1)) {
		return 0
	}
	return x + 1
}

// validIdentity reports whether 18 digits, or 17 before an X, are an identity number.
func validIdentity(d []byte) bool {
	if !validRegion(d) || !validDate(string(d[6:14])) {
		return false
	}
	weights := [...]int{7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2}
	sum := 0
	for i, w := range weights {
		sum += w * int(d[i]-'0')
	}
	check := byte('x')
	if len(d) == 18 {
		check = d[17]
	}
	return "10x98765432"[sum%11] == check
}

// validRegion reports whether a number starts with the code of a province. A leading 9 is for foreigners who live
// there.
func validRegion(d []byte) bool {
	if d[0] == '9' {
		d = d[1:]
	}
	switch n := int(d[0]-'0')*10 + int(d[1]-'0'); {
	case n >= 11 && n <= 15, n >= 21 && n <= 23, n >= 31 && n <= 37, n >= 41 && n <= 46, n >= 50 && n <= 54,
		n >= 61 && n <= 65,
		n == 71, n >= 81 && n <= 83:
		return true
	}
	return false
}

// validDate reports whether eight digits are a date from 1800 to 2099.
func validDate(d string) bool {
	if d[:2] != "18" && d[:2] != "19" && d[:2] != "20" {
		return false
	}
	year, month, day := parseNumber(d[:4]), parseNumber(d[4:6]), parseNumber(d[6:8])
	days := [...]int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}
	if month < 1 || month > 12 {
		return false
	}
	last := days[month-1]
	if month == 2 && year%4 == 0 && year%100 != 0 || month == 2 && year == 2000 {
		last++
	}
	return day >= 1 && day <= last
}

func parseNumber(d string) int {
	n := 0
	for i := range len(d) {
		n = n*10 + int(d[i]-'0')
	}
	return n
}

// socialSecurityNumbers finds social security numbers of the USA: 078-05-1120. Without hyphens they must stand alone;
// without any gap a keyword must precede them.
func socialSecurityNumbers(text []byte, runs []run) []span {
	var found []span
	for i, r := range runs {
		if !numberStarts(text, r.start) || isFraction(text, r) {
			continue
		}
		if r.len() == 9 && validSSN(text[r.start:r.end]) && numberEnds(text, r.end) &&
			precededBy(text, r.start, ssnWords) {
			found = append(found, span{r.start, r.end, SSN})
		}
		if i+2 >= len(runs) || r.len() != 3 || runs[i+1].len() != 2 || runs[i+2].len() != 4 {
			continue
		}
		first, second, stop := runs[i+1].gap, runs[i+2].gap, runs[i+2].end
		if !first.plain() || first != second || !numberEnds(text, stop) ||
			first == spaced && !standsAlone(runs, i, i+2) {
			continue
		}
		d := appendDigits(appendDigits(bytes.Clone(text[r.start:r.end]), text, runs[i+1]), text, runs[i+2])
		if validSSN(d) {
			found = append(found, span{r.start, stop, SSN})
		}
	}
	return found
}

var ssnWords = []string{"ssn", "social security", "社会安全", "社保"}

// validSSN reports whether nine digits can be a social security number, or the number that the tax office gives to
// people without one.
func validSSN(d []byte) bool {
	area, group := string(d[:3]), parseNumber(string(d[3:5]))
	if area[0] == '9' {
		return group >= 50 && group <= 65 || group >= 70 && group != 89 && group != 93
	}
	return area != "000" && area != "666" && group != 0 && string(d[5:]) != "0000"
}

// standsAlone reports whether the runs i to j are not part of a longer row of numbers, such as a line of a table.
func standsAlone(runs []run, i, j int) bool {
	return runs[i].gap == unrelated && (j+1 == len(runs) || runs[j+1].gap == unrelated)
}

// numberStarts reports whether a telephone number or the like can start at position i: it is not part of a word, an
// amount of money or a negative number.
func numberStarts(text []byte, i int) bool {
	c := before(text, i)
	if c == '-' && strings.IndexByte("(=,[{<>+*/", before(text, i-1)) >= 0 {
		return false
	}
	return !isAlnum(c) && c != '_' && !followsCurrency(text, i)
}

// followsCurrency reports whether a currency sign precedes position i.
func followsCurrency(text []byte, i int) bool {
	for _, sign := range []string{"$", "¥", "€", "£"} {
		if bytes.HasSuffix(text[:i], []byte(sign)) {
			return true
		}
	}
	return false
}

// numberEnds reports whether such a number can end before position i.
func numberEnds(text []byte, i int) bool {
	c := at(text, i)
	return !isAlnum(c) && c != '_' && (c != '.' || !isDigit(at(text, i+1)))
}
