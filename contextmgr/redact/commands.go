package redact

import (
	"bytes"
	"slices"
	"strings"
)

// command is a program that takes a password on its command line.
type command struct {
	name   string
	flags  []string // their values are secrets
	user   string   // what separates the user from the password in such a value; empty = there is only the password
	joined bool     // a flag and its value are one word: mysql -pVALUE
}

// commands are such programs, besides those whose flags say what they hold.
var commands = []command{
	{name: "curl", flags: []string{"-u", "-U", "--user", "--proxy-user"}, user: ":"},
	{name: "http", flags: []string{"-a", "--auth"}, user: ":"},
	{name: "https", flags: []string{"-a", "--auth"}, user: ":"},
	{name: "smbclient", flags: []string{"-U", "--user"}, user: "%"},
	{name: "sshpass", flags: []string{"-p"}},
	{name: "mysql", flags: []string{"-p"}, joined: true},
	{name: "mysqldump", flags: []string{"-p"}, joined: true},
	{name: "mysqladmin", flags: []string{"-p"}, joined: true},
	{name: "mariadb", flags: []string{"-p"}, joined: true},
	{name: "redis-cli", flags: []string{"-a", "--pass"}},
	{name: "docker login", flags: []string{"-p"}},
	{name: "podman login", flags: []string{"-p"}},
	{name: "az login", flags: []string{"-p"}},
	{name: "mongo", flags: []string{"-p"}},
	{name: "mongosh", flags: []string{"-p"}},
	{name: "mongodump", flags: []string{"-p"}},
	{name: "ldapsearch", flags: []string{"-w"}},
	{name: "7z", flags: []string{"-p"}, joined: true},
	{name: "zip", flags: []string{"-P"}},
	{name: "unzip", flags: []string{"-P"}},
	{name: "keytool", flags: []string{"-storepass", "-keypass"}},
}

// commandsBy are the commands by their first byte, the longest first.
var commandsBy = func() (by [256][]*command) {
	for i, c := range commands {
		by[c.name[0]] = append(by[c.name[0]], &commands[i])
	}
	for _, list := range by {
		slices.SortFunc(list, func(a, b *command) int { return len(b.name) - len(a.name) })
	}
	return by
}()

// commandAt is the command whose name stands at position i; nil = none.
func commandAt[T []byte | string](text T, i int) *command {
	for _, c := range commandsBy[text[i]] {
		end := i + len(c.name)
		if end < len(text) && string(text[i:end]) == c.name && endsWord(text[end]) &&
			(i == 0 || !isTokenChar(text[i-1]) && text[i-1] != '.') {
			return c
		}
	}
	return nil
}

// endsWord reports whether c ends a word of a command line: it may be written as one, or as a list of strings.
func endsWord(c byte) bool {
	return c <= ' ' && c != blanked || c >= 0x7F || bytes.IndexByte([]byte("\"'`,[](){}"), c) >= 0
}

// commandPasswords finds passwords among the arguments of commands.
func commandPasswords(text []byte, found func(value)) {
	for i := 0; i < len(text); {
		if beginsWord(text, i) {
			if c := commandAt(text, i); c != nil {
				i = arguments(text, c, i+len(c.name), found)
				continue
			}
		}
		i++
	}
}

// arguments finds the passwords among the arguments of a command, and returns where they end.
func arguments(text []byte, c *command, i int, found func(value)) int {
	for {
		i = nextWord(text, i)
		if i == len(text) || text[i] == '\n' || commandAt(text, i) != nil {
			return i
		}
		start := i
		for i < len(text) && !endsWord(text[i]) {
			i++
		}
		word := string(text[start:i])
		switch word {
		case "|", "||", "&", "&&", ";":
			return i
		}
		at, next := c.valueAfter(word), i < len(text) && isQuote(text[i])
		switch {
		case c.joined && next && slices.Contains(c.flags, word): // -p'hunter2'
		case at == 0 && word[len(word)-1] == ';' && !next:
			return i
		case at == 0:
			continue
		case at == len(word):
			i = nextWord(text, i)
		default:
			i = start + at
		}
		v, end := passwordOf(text, c, i)
		found(v)
		i = end
	}
}

// nextWord is the position of the next word of a command line, or of its end. A backslash continues it on the next
// line.
func nextWord(text []byte, i int) int {
	for i < len(text) {
		switch c := text[i]; {
		case c == '\\' && at(text, i+1) == '\n':
			i += 2
		case c == '\\' && isQuote(at(text, i+1)):
			i++
		case c == '\n' || !endsWord(c):
			return i
		default:
			i++
		}
	}
	return i
}

// valueAfter is where the value of a flag begins in a word; its length means in the next word, 0 that it is no such
// flag.
func (c *command) valueAfter(word string) int {
	for _, flag := range c.flags {
		rest, ok := strings.CutPrefix(word, flag)
		long := len(flag) > len("-p")
		switch {
		case ok && c.joined && rest != "" && !long:
			return len(flag)
		case c.joined:
		case ok && rest == "":
			return len(word)
		case ok && long && rest[0] == '=':
			return len(flag) + 1
		case ok && !long:
			return len(flag)
		case !long && len(word) > 2 && word[0] == '-' && word[1] != '-' && strings.HasSuffix(word, flag[1:]) &&
			strings.Trim(word[1:], "fgikLnNosSvx"+flag[1:]) == "": // curl -sSu
			return len(word)
		}
	}
	return 0
}

// passwordOf is the password in the value at position i, and the end of the value.
func passwordOf(text []byte, c *command, i int) (v value, end int) {
	if isQuote(before(text, i)) {
		i--
	}
	v = valueAt(text, i)
	end = v.end
	if c.user != "" {
		n := bytes.Index(text[v.start:end], []byte(c.user))
		if n < 0 {
			return value{}, end
		}
		v.start += n + len(c.user)
	}
	password := string(text[v.start:end])
	if password == "" || password[0] == blanked || password[0] == '-' || isPlaceholder(password) || isName(password) {
		v.end = v.start
	}
	return v, end
}
