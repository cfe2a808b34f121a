package redact

import (
	"bytes"
	"strings"
)

// keyword is a word that announces a secret.
type keyword struct {
	word     string // in small letters
	password bool   // what it announces may be a mere word or number; of others that is a name or a count
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

func (k *keyword) chinese() bool { return k.word[0] >= 0x80 }

// keywordsBy are the keywords by their first byte, in both cases.
var keywordsBy = func() (by [256][]keyword) {
	for _, k := range keywords {
		c := k.word[0]
		by[c] = append(by[c], k)
		if letter(c) {
			by[c-0x20] = append(by[c-0x20], k)
		}
	}
	return by
}()

// keywordAt is the keyword at place i; nil = there is none.
func keywordAt[T []byte | string](text T, i int) *keyword {
	list := keywordsBy[text[i]]
	for n := range list {
		if k := &list[n]; len(text)-i >= len(k.word) && equalFold(text[i:i+len(k.word)], k.word) {
			return k
		}
	}
	return nil
}

// secrets finds what an announcement makes a secret, and passwords in URLs.
func (s *scan) secrets() {
	s.urlPasswords()
	for i := 0; i < len(s.text); i++ {
		k := keywordAt(s.text, i)
		if k == nil {
			continue
		}
		if start, stop := s.announcedBy(k, i); start < stop {
			s.claim(Secret, start, stop)
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
		for stop < len(s.text) && s.text[stop] > ' ' && s.text[stop] < 0x7F && bytes.IndexByte([]byte("/?#\"'<>`"), s.text[stop]) < 0 {
			stop++
		}
		colon := bytes.IndexByte(s.text[i:stop], ':')
		host := bytes.LastIndexByte(s.text[i:stop], '@')
		if value := colon + 1; colon >= 0 && host > value && !placeholder(string(s.text[i+value:i+host])) {
			s.claim(Secret, i+value, i+host)
		}
		i = stop
	}
}

// link is what joins an announcement and its secret.
type link uint8

const (
	none     link = iota
	beside        // nothing, or a space: password hunter2
	verbal        // "is"
	assigned      // a colon or an equals sign
)

// enough is how much of a secret is looked at, in bytes, to know that it is one.
const enough = 256

// announcedBy is where the secret is that the keyword at place i announces; none when start and stop are equal.
func (s *scan) announcedBy(k *keyword, i int) (start, stop int) {
	flag := before(s.text, i) == '-'
	start, l := s.link(i + len(k.word))
	if flag && l == beside && before(s.text, start) == ' ' {
		l = assigned // --password hunter2
	}
	if l == none {
		return 0, 0
	}
	if at(s.text, start) == '\\' && quote(at(s.text, start+1)) {
		start++
	}
	limit := min(len(s.text), start+enough)
	if q := at(s.text, start); quote(q) {
		start++
		if n := bytes.IndexByte(s.text[start:limit], q); n >= 0 && bytes.IndexByte(s.text[start:start+n], '\n') < 0 {
			value := bytes.TrimRight(s.text[start:start+n], `\`)
			if !secret(string(value), k, l, true) {
				return 0, 0
			}
			return start, start + len(value)
		}
	}
	for stop = start; stop < limit && secretChar(s.text[stop]); stop++ {
	}
	value := trim(string(s.text[start:stop]))
	if !secret(value, k, l, false) {
		return 0, 0
	}
	if stop = start + len(value); stop == limit {
		for stop < len(s.text) && secretChar(s.text[stop]) {
			stop++
		}
	}
	return start, stop
}

func quote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// secretChar reports whether a secret that is not in quotes goes on with c.
func secretChar(c byte) bool { return c > ' ' && c < 0x7F && !quote(c) }

// joins are the words and signs between an announcement and its secret. The first that fits counts.
var joins = []struct {
	word string
	link link
}{
	{":=", assigned}, {"=>", assigned}, {"==", none}, {"::", none}, {":", assigned}, {"=", assigned}, {"->", assigned},
	{"就是", verbal}, {"是", verbal}, {"设置为", verbal}, {"设为", verbal}, {"设成", verbal},
	{"改成了", verbal}, {"改成", verbal}, {"改为", verbal}, {"换成", verbal}, {"为", verbal},
	{"is", verbal}, {"was", verbal}, {"to", verbal}, {"changed to", verbal}, {"set to", verbal},
}

// link reads over what stands between an announcement and its secret.
func (s *scan) link(i int) (int, link) {
	i = s.skip(i, "\\\"'`*])", 3) // "password": **Password**:
	blank := s.skip(i, " \t", 4)
	for _, w := range joins {
		next := blank + len(w.word)
		if !bytes.HasPrefix(s.text[blank:], []byte(w.word)) || letter(w.word[0]) && letter(at(s.text, next)) {
			continue
		}
		if w.link == verbal {
			next = s.skip(next, ":=", 1)
		}
		next = s.skip(next, " \t", 4)
		next = s.skip(s.skip(next, "*", 2), " \t", 1)
		return next + opener(s.text[next:]), w.link
	}
	chinese := before(s.text, blank) >= 0x80
	if chinese {
		blank += opener(s.text[blank:])
	}
	if chinese || blank > i {
		return blank, beside
	}
	return blank, none
}

// skip is the place behind as many characters of a set, up to most, as stand at place i.
func (s *scan) skip(i int, set string, most int) int {
	for stop := min(len(s.text), i+most); i < stop && strings.IndexByte(set, s.text[i]) >= 0; i++ {
	}
	return i
}

// opener is the length of the bracket or Chinese quotation mark that a text starts with; 0 = there is none.
func opener(text []byte) int {
	for _, mark := range []string{"(", "“", "‘", "「", "『", "【"} {
		if bytes.HasPrefix(text, []byte(mark)) {
			return len(mark)
		}
	}
	return 0
}
