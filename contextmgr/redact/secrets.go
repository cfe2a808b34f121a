package redact

import (
	"bytes"
	"strings"
)

// keyword is a word that announces a secret.
type keyword struct {
	word     string // in lower case
	password bool   // its value may be a plain word or number; after other keywords that is a name or a count
}

// keywords are sorted so that none hides a longer one.
var keywords = []keyword{
	{"passphrase", true}, {"password", true}, {"passcode", true}, {"passwd", true}, {"pwd", true}, {"_pass", true},
	{"private_key", false}, {"private-key", false}, {"private key", false}, {"privatekey", false},
	{"secret_access_key", false}, {"secret_key", false}, {"secret-key", false}, {"secretkey", false},
	{"secret key", false}, {"secret", false},
	{"signing_key", false}, {"signing-key", false}, {"signing key", false}, {"signingkey", false}, {"token", false},
	{"api_key", false}, {"api-key", false}, {"api key", false}, {"apikey", false},
	{"access_key", false}, {"access-key", false}, {"access key", false}, {"accesskey", false}, {"accountkey", false},
	{"auth_key", false}, {"auth-key", false}, {"authkey", false},
	{"credentials", false}, {"credential", false},
	{"encryption_key", false}, {"encryption-key", false}, {"encryption key", false}, {"encryptionkey", false},
	{"encrypt_key", false}, {"encrypt-key", false}, {"encrypt key", false}, {"encryptkey", false},
	{"密码", true}, {"密碼", true}, {"口令", true}, {"密钥", false}, {"密鑰", false}, {"秘钥", false}, {"私钥", false},
	{"令牌", false}, {"授权码", true}, {"验证码", true},
}

// chinese reports whether the keyword is Chinese, which is written without spaces around it.
func (k *keyword) chinese() bool { return k.word[0] >= 0x80 }

// keywordsBy are the keywords by their first byte, in both cases.
var keywordsBy = func() (by [256][]keyword) {
	for _, k := range keywords {
		c := k.word[0]
		by[c] = append(by[c], k)
		if isLetter(c) {
			by[c-0x20] = append(by[c-0x20], k)
		}
	}
	return by
}()

// keywordAt is the keyword at position i; nil = none.
func keywordAt[T []byte | string](text T, i int) *keyword {
	list := keywordsBy[text[i]]
	for n := range list {
		if k := &list[n]; len(text)-i >= len(k.word) && equalFold(text[i:i+len(k.word)], k.word) {
			return k
		}
	}
	return nil
}

// secrets finds the values after keywords, and passwords in URLs and command lines.
func (s *scan) secrets() {
	s.urlPasswords()
	commandPasswords(s.text, func(v value) {
		if v.open && (v.unclosed || v.start == v.end) {
			s.hold(v.start)
		}
		if v.start < v.end {
			s.recordMatch(Secret, v.start, v.end)
		}
	})
	for i := 0; i < len(s.text); i++ {
		if !beginsWord(s.text, i) {
			continue
		}
		k := keywordAt(s.text, i)
		if k == nil {
			continue
		}
		if start, stop := s.announcedBy(k, i); start < stop {
			s.recordMatch(Secret, start, stop)
			i = stop - 1
		}
	}
}

// urlPasswords finds the passwords in https://user:password@host.
func (s *scan) urlPasswords() {
	for i := 0; ; {
		n := bytes.Index(s.text[i:], []byte("://"))
		if n < 0 {
			return
		}
		i += n + len("://")
		stop := i
		for stop < len(s.text) && s.text[stop] > ' ' && s.text[stop] < 0x7F &&
			bytes.IndexByte([]byte("/?#\"'<>`"), s.text[stop]) < 0 {
			stop++
		}
		colon := bytes.IndexByte(s.text[i:stop], ':')
		// The last @, since passwords may contain one.
		host := bytes.LastIndexByte(s.text[i:stop], '@')
		value := colon + 1
		found := colon >= 0 && host > value && !isPlaceholder(string(s.text[i+value:i+host]))
		if found {
			s.recordMatch(Secret, i+value, i+host)
		} else if colon >= 0 && stop == len(s.text) {
			s.hold(i + value)
		}
		i = stop
	}
}

// link is how a keyword and its value are joined.
type link uint8

const (
	none     link = iota
	beside        // nothing, or a space: password hunter2
	verbal        // "is"
	assigned      // a colon or an equals sign
)

// maxSecret is how many bytes of a value are examined.
const maxSecret = 256

// value is what may be a secret.
type value struct {
	start, end int
	quoted     bool
	unclosed   bool // it has an opening quotation mark only
	open       bool // the text ends before it is clear where the value does
	long       bool // it goes on
}

// announcedBy finds the value of the keyword at position i; start equals stop if there is none.
func (s *scan) announcedBy(k *keyword, i int) (start, stop int) {
	flag := before(s.text, i) == '-'
	start, l := linkAt(s.text, i+len(k.word))
	if flag && l == beside && before(s.text, start) == ' ' {
		l = assigned // --password hunter2
	}
	below := nextLine(s.text, start)
	if below == start && l == none || runs(s.code, i) && (below > start || l != assigned) {
		return 0, 0
	}
	v := valueAt(s.text, below)
	text := string(s.text[v.start:v.end])
	secret := (below == start || fillsLine(s.text, v, &l)) && isSecret(text, k, l, v.quoted)
	if v.open && (v.unclosed || !secret) {
		s.hold(v.start)
	}
	if !secret {
		return 0, 0
	}
	for v.long && v.end < len(s.text) && secretChar(s.text[v.end]) {
		v.end++
	}
	return v.start, v.end
}

// valueAt is the value at position i, in quotation marks or not.
func valueAt(text []byte, i int) value {
	if at(text, i) == '\\' && isQuote(at(text, i+1)) {
		i++
	}
	limit := min(len(text), i+maxSecret)
	open := false
	if q := at(text, i); isQuote(q) {
		i++
		rest := text[min(i, limit):limit]
		n, line := bytes.IndexByte(rest, q), bytes.IndexByte(rest, '\n')
		if n >= 0 && (line < 0 || n < line) {
			return value{start: i, end: i + len(bytes.TrimRight(rest[:n], `\`)), quoted: true}
		}
		open = line < 0 && limit == len(text)
	}
	stop := i
	for stop < limit && secretChar(text[stop]) {
		stop++
	}
	end := i + len(trimSecret(string(text[i:stop])))
	return value{start: i, end: end, open: open || stop == len(text), long: end == limit, unclosed: open}
}

// nextLine is the position of the value on the line below a label that ends at position i: Password:, in the next line
// hunter2. Where the line goes on, it is i.
func nextLine(text []byte, i int) int {
	from := skip(text, i, " \t\r", 4)
	if at(text, from) != '\n' {
		return i
	}
	for range 3 { // an empty line, the beginning of a code block
		from = skip(text, from+1, " \t\r", 16)
		if bytes.HasPrefix(text[from:], []byte("```")) {
			n := bytes.IndexByte(text[from:min(len(text), from+32)], '\n')
			from += max(n, 0)
		}
		if at(text, from) != '\n' {
			break
		}
	}
	return skip(text, from, "-*+> \t", 6)
}

// fillsLine reports whether a value on the line below its label is all of that line. A label that announces nothing
// may be a heading, so l is weakened then.
func fillsLine(text []byte, v value, l *link) bool {
	if *l == none {
		*l = beside
	}
	stop := skip(text, v.end, "\\\"'`*,; \t\r", 8)
	if c := at(text, stop); stop < len(text) && c != '\n' {
		return false
	}
	_, marks, letters := countChars(string(text[v.start:v.end]))
	return letters > 0 || marks > 0 || !bytes.ContainsAny(text[v.start:v.end], "-/.") // a date
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// secretChar reports whether c may be part of a secret outside quotes.
func secretChar(c byte) bool { return c > ' ' && c < 0x7F && !isQuote(c) }

// joins are the words and signs between a keyword and its value. The first match counts.
var joins = []struct {
	word string
	link link
}{
	{":=", assigned}, {"=>", assigned}, {"==", none}, {"::", none}, {":", assigned}, {"=", assigned}, {"->", assigned},
	{"就是", verbal}, {"是", verbal}, {"设置为", verbal}, {"设为", verbal}, {"设成", verbal},
	{"改成了", verbal}, {"改成", verbal}, {"改为", verbal}, {"换成", verbal}, {"为", verbal},
	{"is", verbal}, {"was", verbal}, {"to", verbal}, {"changed to", verbal}, {"set to", verbal},
}

// linkAt skips what stands between a keyword and its value.
func linkAt(text []byte, i int) (int, link) {
	i = skip(text, i, "\\\"'`*])", 3) // "password": **Password**:
	blank := skip(text, i, " \t", 4)
	if at(text, blank) == '|' && inTable(text, i) {
		return skip(text, blank+1, " \t*", 16), beside
	}
	for _, w := range joins {
		next := blank + len(w.word)
		if !bytes.HasPrefix(text[blank:], []byte(w.word)) || isLetter(w.word[0]) && isLetter(at(text, next)) {
			continue
		}
		if w.link == verbal {
			next = skip(text, next, ":=", 1)
		}
		next = skip(text, next, " \t", 4)
		next = skip(text, skip(text, next, "*", 2), " \t", 1)
		return next + openingQuote(text[next:]), w.link
	}
	chinese := before(text, blank) >= 0x80
	if chinese {
		blank += openingQuote(text[blank:])
	}
	if chinese || blank > i {
		return blank, beside
	}
	return blank, none
}

// inTable reports whether position i is in a row of a Markdown table.
func inTable(text []byte, i int) bool {
	line := text[max(0, i-maxSecret):i]
	line = bytes.TrimLeft(line[bytes.LastIndexByte(line, '\n')+1:], " \t")
	return len(line) > 0 && line[0] == '|'
}

// skip is the position after up to most characters of set at position i.
func skip(text []byte, i int, set string, most int) int {
	for stop := min(len(text), i+most); i < stop && strings.IndexByte(set, text[i]) >= 0; i++ {
	}
	return i
}

// openingQuote is the length of the bracket or Chinese quotation mark at the start of a text; 0 = none.
func openingQuote(text []byte) int {
	for _, mark := range []string{"(", "“", "‘", "「", "『", "【"} {
		if bytes.HasPrefix(text, []byte(mark)) {
			return len(mark)
		}
	}
	return 0
}
