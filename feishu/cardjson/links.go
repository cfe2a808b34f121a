package cardjson

import (
	"cmp"
	"regexp"
	"strings"
	"unicode/utf8"
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
		switch written := s[end+1 : n]; {
		case quoted && strings.ContainsAny(target, " ()<>"), !quoted && strings.ContainsAny(written, "!`[\\"):
			return 1, s[:1]
		case !quoted:
			return n, "[" + p.linkWords(words) + "]" + strings.ReplaceAll(written, "<", "&lt;")
		}
		return n, "[" + p.linkWords(words) + "](" + target + ")"
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
		rest := strings.IndexByte(s[start+end:min(len(s), start+longestTarget)], ')')
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
	// Only so far: a line may have very many of these.
	from := max(0, i-longestWords)
	begins := from + strings.LastIndexByte(line[from:i], '[')
	return begins <= from || line[begins-1] == '\\' ||
		strings.TrimLeft(line[:min(begins, longestWords)], " \t>*+-.)0123456789!") == ""
}

// linkWords sanitizes the words of a link, in which there is no other link.
func (p *prose) linkWords(words string) string {
	within := p.linked
	p.linked = true
	defer func() { p.linked = within }()
	return p.sanitizeInline(words)
}

// Limits of tags and addresses that are read.
const (
	longestTag     = 40
	longestAddress = 1000
)

var mailbox = regexp.MustCompile(`^[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+$`)

// beginsAddress reports whether an address of the web begins at i: not in a word, and not as the target of a link.
func beginsAddress(line string, i int) bool {
	if line[i]|0x20 != 'h' || !web.MatchString(line[i:min(len(line), i+len("https://"))]) {
		return false
	}
	if i > 0 && isWord(line[i-1]) {
		return false
	}
	before := strings.TrimRight(line[:i], " \t")
	return !strings.HasSuffix(before, "](") && !strings.HasSuffix(before, "]:")
}

func isWord(c byte) bool { return c-'0' < 10 || c|0x20-'a' < 26 || c == '_' }

// address reads an address in a text. The platform would take what follows it, up to the next space, as a part of it;
// only where this is Chinese, or a sign before Chinese, the address is written as a link.
func address(s string) (n int, text string) {
	url := bareAddress(s)
	if rest := strings.TrimLeft(s[len(url):], closers); rest == "" || rest[0] < utf8.RuneSelf {
		return len(url), url
	}
	return len(url), explicitLink(url)
}

// closers may follow an address, and end it if no other part of it comes.
const closers = ".,;:!?'*_~)]"

// bareAddress is the address at the start of a text. It ends before the first character that addresses only contain in
// an encoded form.
func bareAddress(s string) string {
	end := 0
	for end < min(len(s), longestAddress) && s[end] > ' ' && s[end] < 0x7f && !strings.ContainsRune("<>[]\"\\^`{}|", rune(s[end])) {
		end++
	}
	if !web.MatchString(s[:end]) {
		return ""
	}
	url := strings.TrimRight(s[:end], closers)
	// A parenthesis belongs to the address if it closes one there.
	for len(url) < end && s[len(url)] == ')' && strings.Count(url, "(") > strings.Count(url, ")") {
		url = s[:len(url)+1]
	}
	return url
}

// explicitLink writes an address as a link.
func explicitLink(url string) string {
	return "[" + url + "](" + strings.NewReplacer("(", "%28", ")", "%29").Replace(url) + ")"
}
