package cardjson

import (
	"cmp"
	"regexp"
	"strings"
)

// The platform refuses a message with a link that does not lead to the web (230001, "invalid href"), and agents often
// link to files. Such a link is written as plain text. Anything else that the platform might read as a link is broken
// by an invisible character.

// Limits of a link, so that unclosed brackets are not searched to the end of the line again and again.
const (
	longestWords  = 1000 // bytes of the link text
	longestTarget = 4000
)

var (
	web       = regexp.MustCompile(`(?i)^https?://`)
	linkTitle = regexp.MustCompile(`^(.*?)[ \t]+(?:"[^"]*"|'[^']*'|\([^()]*\))$`)
)

// leadsToWeb reports whether a link target begins with a web address.
func leadsToWeb(s string) bool { return web.MatchString(strings.TrimLeft(s, " \t")) }

// link writes a link as plain text, unless it leads to the web.
func (p *prose) link(s string) (n int, text string) {
	end := closingBracket(s, '[', ']', longestWords)
	if end < 0 || !strings.HasPrefix(s[end+1:], "(") {
		return 1, s[:1]
	}
	size, target, quoted := targetOf(s[end+1:])
	if size == 0 {
		return 1, s[:1]
	}
	n = end + 1 + size
	words := s[1:end]
	if web.MatchString(target) {
		if !quoted || strings.ContainsAny(target, " ()<>") {
			return 1, s[:1]
		}
		return n, "[" + p.sanitizeInline(words) + "](" + target + ")"
	}
	text = p.sanitizeInline(words)
	switch {
	case text == "":
		text = cmp.Or(p.sanitizeInline(target), zwsp)
	case target != "" && strings.Trim(words, "`") != target && !strings.HasPrefix(target, "#"):
		text += " (" + p.sanitizeInline(target) + ")"
	}
	return n, text
}

// closingBracket is the index of the bracket that closes the one at the start of s; -1 = none. Brackets in code and
// after a backslash are ignored.
func closingBracket(s string, opens, closes byte, most int) int {
	depth := 0
	for i := 0; i < min(len(s), most+1); i++ {
		switch s[i] {
		case '\\':
			i++
		case '`':
			n, _ := codeSpan(s[i:])
			i += n - 1
		case opens:
			depth++
		case closes:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// targetOf parses the target of a link, from its parenthesis on; size is 0 if there is none. A quoted one is in angle
// brackets.
func targetOf(s string) (size int, target string, quoted bool) {
	if start := len(s) - len(strings.TrimLeft(s[1:], " \t")); strings.HasPrefix(s[start:], "<") {
		end := strings.IndexByte(s[start:min(len(s), start+longestTarget)], '>')
		if end < 0 {
			return 0, "", false
		}
		rest := strings.IndexByte(s[start+end:], ')')
		if rest < 0 {
			return 0, "", false
		}
		return start + end + rest + 1, s[start+1 : start+end], true
	}
	end := closingBracket(s, '(', ')', longestTarget)
	if end < 0 {
		return 0, "", false
	}
	target = strings.Trim(s[1:end], " \t")
	if m := linkTitle.FindStringSubmatch(target); m != nil {
		target = m[1]
	}
	return end + 1, target, false
}

// endsDefinition reports whether the bracket at i may end the name of a link definition, as in [1]: src/a.go. A name
// begins its line, or an earlier one; of a picture only the name is left.
func endsDefinition(line string, i int) bool {
	if !strings.HasPrefix(line[i:], "]:") || leadsToWeb(line[i+2:]) {
		return false
	}
	begins := strings.LastIndexByte(line[:i], '[')
	return begins <= 0 || line[begins-1] == '\\' || strings.Trim(line[:begins], " \t>*+-.)0123456789!") == ""
}
