package redact

import (
	"bytes"
	"regexp"
	"slices"
)

// passport matches a passport number after its keyword. Passport numbers have no check digit, so one without the
// keyword is kept.
var passport = regexp.MustCompile(`(?i)(?:护照|passport)(?:证件)? ?(?:号码|号|(?:number|num|no\.?|#))?[ ]?(?:是|为|is)?[ ]?[:=#]?[ ]?` +
	`([a-z]{0,2}[ -]?[0-9](?:[ -]?[0-9]){5,8})`)

// passports finds passport numbers after their keyword. The plain search for the keyword comes first: the regular
// expression is slow.
func (s *scan) passports() {
	if !slices.ContainsFunc([]string{"护照", "assport", "ASSPORT"}, func(w string) bool {
		return bytes.Contains(s.text, []byte(w))
	}) {
		return
	}
	for _, m := range passport.FindAllSubmatchIndex(s.text, -1) {
		if start, stop := m[2], m[3]; !isAlnum(at(s.text, stop)) {
			for at(s.text, start) == ' ' || at(s.text, start) == '-' {
				start++
			}
			s.recordMatch(Passport, start, stop)
		}
	}
}
