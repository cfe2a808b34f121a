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
	{"private_key", false}, {"privatekey", false},
	{"secret_access_key", false}, {"secret_key", false}, {"secretkey", false}, {"secret key", false}, {"secret", false},
	{"signing_key", false}, {"token", false},
	{"api_key", false}, {"api-key", false}, {"api key", false}, {"apikey", false},
	{"access_key", false}, {"access-key", false}, {"access key", false}, {"accesskey", false}, {"accountkey", false},
	{"credentials", false}, {"credential", false}, {"encryption_key", false},
	{"密码", true}, {"口令", true}, {"密钥", false}, {"秘钥", false}, {"令牌", false}, {"验证码", true},
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

// secrets finds the values after keywords, and passwords in URLs.
func (s *scan) secrets() {
	s.urlPasswords()
	for i := 0; i < len(s.text); i++ {
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
		if value := colon + 1; colon >= 0 && host > value && !isPlaceholder(string(s.text[i+value:i+host])) {
			s.recordMatch(Secret, i+value, i+host)
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

// announcedBy finds the value of the keyword at position i; start equals stop if there is none.
func (s *scan) announcedBy(k *keyword, i int) (start, stop int) {
	flag := before(s.text, i) == '-'
	start, l := s.link(i + len(k.word))
	if flag && l == beside && before(s.text, start) == ' ' {
		l = assigned // --password hunter2
	}
	if l == none {
		return 0, 0
	}
	if at(s.text, start) == '\\' && isQuote(at(s.text, start+1)) {
		start++
	}
	limit := min(len(s.text), start+maxSecret)
	if q := at(s.text, start); isQuote(q) {
		start++
		if n := bytes.IndexByte(s.text[start:limit], q); n >= 0 && bytes.IndexByte(s.text[start:start+n], '\n') < 0 {
			value := bytes.TrimRight(s.text[start:start+n], `\`)
			if !isSecret(string(value), k, l, true) {
				return 0, 0
			}
			return start, start + len(value)
		}
	}
	for stop = start; stop < limit && secretChar(s.text[stop]); stop++ {
	}
	value := trimSecret(string(s.text[start:stop]))
	if !isSecret(value, k, l, false) {
		return 0, 0
	}
	if stop = start + len(value); stop == limit {
		for stop < len(s.text) && secretChar(s.text[stop]) {
			stop++
		}
	}
	return start, stop
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

// link skips what stands between a keyword and its value.
func (s *scan) link(i int) (int, link) {
	i = s.skip(i, "\\\"'`*])", 3) // "password": **Password**:
	blank := s.skip(i, " \t", 4)
	for _, w := range joins {
		next := blank + len(w.word)
		if !bytes.HasPrefix(s.text[blank:], []byte(w.word)) || isLetter(w.word[0]) && isLetter(at(s.text, next)) {
			continue
		}
		if w.link == verbal {
			next = s.skip(next, ":=", 1)
		}
		next = s.skip(next, " \t", 4)
		next = s.skip(s.skip(next, "*", 2), " \t", 1)
		return next + openingQuote(s.text[next:]), w.link
	}
	chinese := before(s.text, blank) >= 0x80
	if chinese {
		blank += openingQuote(s.text[blank:])
	}
	if chinese || blank > i {
		return blank, beside
	}
	return blank, none
}

// skip is the position after up to most characters of set at position i.
func (s *scan) skip(i int, set string, most int) int {
	for stop := min(len(s.text), i+most); i < stop && strings.IndexByte(set, s.text[i]) >= 0; i++ {
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
