package redact

import (
	"bytes"
	"regexp"
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

// suspicious reports whether anything might be found in s. It costs much less than looking.
func suspicious(s string) bool {
	digits, colons := 0, 0
	for i := range len(s) {
		c := s[i]
		switch {
		case digit(c):
			if digits++; digits > 3 { // 1.1.1.1
				return true
			}
		case c == ':':
			if colons++; colons > 6 || strings.HasPrefix(s[i:], "::") || strings.HasPrefix(s[i:], "://") {
				return true
			}
		case c == '@', fullWidth(s[i:]), c == '-' && strings.HasPrefix(s[i:], "-----BEGIN"):
			return true
		case keywordAt(s, i) != nil:
			return true
		}
		for range keysAt(s, i) {
			return true
		}
	}
	return false
}

// fullWidth reports whether s starts with a full-width letter, digit or @.
func fullWidth(s string) bool {
	if len(s) < 3 || s[0] != 0xEF {
		return false
	}
	c := s[2]
	return s[1] == 0xBC && (c >= 0x90 && c <= 0x99 || c >= 0xA0 && c <= 0xBA) || s[1] == 0xBD && c >= 0x81 && c <= 0x9A
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

// longestSecret bounds how far a secret is followed.
const longestSecret = 512

// announcedBy is where the secret is that the keyword at place i announces; none when start and stop are equal.
func (s *scan) announcedBy(k *keyword, i int) (start, stop int) {
	flag := before(s.text, i) == '-'
	i += len(k.word)
	i, l := s.link(i)
	if flag && l == beside && before(s.text, i) == ' ' {
		l = assigned // --password hunter2
	}
	if l == none {
		return 0, 0
	}
	quote := byte(0)
	if at(s.text, i) == '\\' && quoted(at(s.text, i+1)) {
		i++
	}
	if quoted(at(s.text, i)) {
		quote = s.text[i]
		i++
	}
	limit := min(len(s.text), i+longestSecret)
	if quote != 0 {
		if n := bytes.IndexByte(s.text[i:limit], quote); n >= 0 && bytes.IndexByte(s.text[i:i+n], '\n') < 0 {
			value := bytes.TrimRight(s.text[i:i+n], `\`)
			if secret(string(value), k, l, true) {
				return i, i + len(value)
			}
			return 0, 0
		}
	}
	j := i
	for j < limit && s.text[j] > ' ' && s.text[j] < 0x7F && !quoted(s.text[j]) {
		j++
	}
	value := trim(string(s.text[i:j]))
	if !secret(value, k, l, false) {
		return 0, 0
	}
	return i, i + len(value)
}

func quoted(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// link reads over what stands between an announcement and its secret.
func (s *scan) link(i int) (int, link) {
	skip := func(set string, most int) (n int) {
		for n < most && i < len(s.text) && strings.IndexByte(set, s.text[i]) >= 0 {
			i++
			n++
		}
		return n
	}
	skip("\\\"'`*])", 3) // "password": **Password**:
	spaces := skip(" \t", 4)
	rest := s.text[i:]
	for _, w := range []struct {
		word string
		link link
	}{
		{":=", assigned}, {"=>", assigned}, {"==", none}, {"::", none}, {":", assigned}, {"=", assigned}, {"->", assigned},
		{"就是", verbal}, {"是", verbal}, {"设置为", verbal}, {"设为", verbal}, {"设成", verbal}, {"改成了", verbal}, {"改成", verbal}, {"改为", verbal}, {"换成", verbal}, {"为", verbal},
		{"is", verbal}, {"was", verbal}, {"to", verbal}, {"changed to", verbal}, {"set to", verbal},
	} {
		if !bytes.HasPrefix(rest, []byte(w.word)) || letter(w.word[0]) && letter(at(rest, len(w.word))) {
			continue
		}
		i += len(w.word)
		if w.link == verbal {
			skip(":=", 1)
		}
		skip(" \t", 4)
		skip("*", 2)
		skip(" \t", 1)
		return i + opener(s.text[i:]), w.link
	}
	if n := opener(rest); n > 0 && before(s.text, i) >= 0x80 {
		return i + n, beside
	}
	if spaces > 0 || before(s.text, i) >= 0x80 {
		return i, beside
	}
	return i, none
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

var nextField = regexp.MustCompile(`[&,;][A-Za-z_][A-Za-z0-9_.-]*[=:]|\)[,;)&|]`)

// trim cuts off what follows a secret without a space: the next field of a query, brackets, the end of a sentence.
func trim(value string) string {
	if m := nextField.FindStringIndex(value); m != nil {
		value = value[:m[0]]
	}
	return strings.TrimRight(value, `.,;:)]}>\*`)
}

// secret reports whether a value is one: no name of a variable, no placeholder, no word of the sentence.
func secret(value string, k *keyword, l link, inQuotes bool) bool {
	if len(value) < 4 || placeholder(value) || strings.IndexByte(value, gone) >= 0 {
		return false
	}
	digits, marks, letters := count(value)
	switch {
	case inQuotes && strings.Contains(value, " ") && !k.password, l == beside && !alnum(value[0]):
		return false
	case k.word == "pwd" && (digits+marks == 0 || strings.IndexByte("/.~", value[0]) >= 0): // the working folder
		return false
	case k.password && l == assigned:
		return !name(value)
	case k.password && l == verbal:
		return digits+marks > 0 && !name(value) || strings.HasPrefix(k.word, "\xe5") && !name(value)
	case k.password:
		return digits > 0 && (letters > 0 || digits >= 6 || k.word[0] >= 0x80) && (len(value) >= 6 || k.word[0] >= 0x80) && !name(value)
	case l == beside:
		return digits > 0 && letters > 0 && len(value) >= 16 && !hash([]byte(value)) && !uuid([]byte(value))
	case name(value) || letters == 0 && len(value) < 20:
		return false
	case l == verbal:
		return digits > 0 && len(value) >= 8
	}
	return digits > 0 && len(value) >= 6 || len(value) >= 16
}

func count(value string) (digits, marks, letters int) {
	for i := range len(value) {
		switch c := value[i]; {
		case digit(c):
			digits++
		case letter(c):
			letters++
		case c != '-' && c != '\'' && c != '_' && c != '.' && c != '/':
			marks++
		}
	}
	return digits, marks, letters
}

var (
	// variable is what is filled in later: $HOME, ${x}, {{x}}, <x>, [x], %s, &x.
	variable = regexp.MustCompile(`^(?:\$[A-Za-z_]+$|\$[({]|\{\{|<|\[|%[({a-z]|[&*+][A-Za-z]|\.\.\.|…)`)
	// program is a name out of a program, or a piece of one: cfg.Secret, os.Getenv("X"), " + x.
	program = regexp.MustCompile(`^!*(?:[A-Za-z_]+(?:\.[A-Za-z_]+)+$|[A-Za-z_][A-Za-z0-9_.]*[(\[]|` +
		`(?:process|import|os|this|self|config|cfg|settings|options|opts|env|req|request)\.[A-Za-z0-9_.]+$)|^[),;+]|^\.[a-z]+\(`)
	// mention is a name of a variable that says what is in it.
	mention = regexp.MustCompile(`(?i)^!*[a-z_.]*(?:pass|pwd|secret|token|key|credential)[a-z_.]*$`)
)

// words are what people and programs write where a secret would stand.
var words = func() map[string]bool {
	all := map[string]bool{}
	for _, w := range strings.Fields(`string str text bytes byte bool boolean int integer number null nil none true false undefined any
		value values input name uint8 uint16 uint32 uint64 int32 int64 float64 object required optional empty missing invalid expired wrong incorrect changed unknown default policy manager reset login
		your here this that with from and the not for was has been must should
		md5 sha1 sha256 sha384 sha512 base64 bcrypt scrypt argon2 argon2id pbkdf2 aes128 aes256 rsa2048 rsa4096 utf8 oauth2 hs256 rs256 es256`) {
		all[w] = true
	}
	return all
}()

// placeholder reports whether a value stands for a secret.
func placeholder(value string) bool {
	return strings.Trim(value, value[:1]) == "" && !digit(value[0]) || variable.MatchString(value)
}

// name reports whether a value is a word of the language or of a program.
func name(value string) bool {
	return words[strings.ToLower(value)] || program.MatchString(value) || mention.MatchString(value)
}
