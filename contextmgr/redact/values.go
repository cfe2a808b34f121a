package redact

import (
	"regexp"
	"slices"
	"strings"
)

// nextField ends a secret that is not followed by a space.
var nextField = regexp.MustCompile(`[&,;][A-Za-z_][A-Za-z0-9_.-]*[=:]|\)[,;)&|]`)

// trimSecret removes what follows a secret without a space: the next field of a query, brackets, the end of a sentence.
func trimSecret(value string) string {
	if m := nextField.FindStringIndex(value); m != nil {
		value = value[:m[0]]
	}
	return strings.TrimRight(value, `.,;:)]}>\*`)
}

// shortestSecret is the minimum length of a secret, in bytes. Shorter values are too often ordinary words.
const shortestSecret = 4

// isSecret reports whether a value is a secret, not a variable name, a placeholder or a word of the sentence. The
// weaker the link to the keyword, the more the value itself must look like a secret.
func isSecret(value string, k *keyword, l link, inQuotes bool) bool {
	if len(value) < shortestSecret || value[0] == blanked || isPlaceholder(value) || isName(value) {
		return false
	}
	if k.password {
		return isPassword(value, k, l)
	}
	if mention.MatchString(value) {
		return false
	}
	digits, _, letters := countChars(value)
	switch {
	case inQuotes && strings.Contains(value, " "), !inQuotes && keyName.MatchString(value):
		return false
	case l == beside:
		return digits > 0 && letters > 0 && len(value) >= 16 && isAlnum(value[0]) && !isHash([]byte(value)) &&
			!isUUID([]byte(value))
	case letters == 0 && len(value) < 20: // a count
		return false
	case l == verbal:
		return digits > 0 && len(value) >= 8
	}
	return digits > 0 && len(value) >= 6 || len(value) >= 16
}

// isPassword reports whether a value that is not a name may be a password: any word after an assignment, otherwise
// anything that is not a word.
func isPassword(value string, k *keyword, l link) bool {
	digits, marks, letters := countChars(value)
	switch {
	case variablePassword(value):
		return false
	case k.word == "pwd" && (digits+marks == 0 || strings.IndexByte("/.~", value[0]) >= 0): // the working directory
		return false
	case l == assigned, l == verbal && k.chinese():
		return true
	case l == verbal:
		return digits+marks > 0
	case k.chinese():
		return digits > 0 && isAlnum(value[0])
	}
	return digits > 0 && (letters > 0 || digits >= 6) && len(value) >= 6 && isAlnum(value[0])
}

// variablePassword reports whether a value is the name of a variable that holds a password: newPassword, db.passwd,
// pwd.
func variablePassword(value string) bool {
	if !mention.MatchString(value) {
		return false
	}
	small := strings.ToLower(value)
	return small != value || strings.ContainsAny(value, "_.") ||
		slices.Contains([]string{"password", "passwd", "pass", "pwd", "passphrase"}, small)
}

// countChars counts the characters of a value, except signs within words: well-known, don't.
func countChars(value string) (digits, marks, letters int) {
	for i := range len(value) {
		switch c := value[i]; {
		case isDigit(c):
			digits++
		case isLetter(c):
			letters++
		case c != '-' && c != '\'' && c != '_' && c != '.' && c != '/':
			marks++
		}
	}
	return digits, marks, letters
}

var (
	// variable is a placeholder of a template: $HOME, ${x}, {{x}}, <x>, [x], %s, &x.
	variable = regexp.MustCompile(`^(?:\$[A-Za-z_][A-Za-z0-9_]*$|!!?[A-Za-z]+$|\$[({]|\{\{|<|\[|%[({a-z]|[&*+][A-Za-z]|\.\.\.|…)`)
	// program is an expression of a program, or a part of one: cfg.Secret, os.Getenv("X"), " + x.
	program = regexp.MustCompile(`^!*(?:[A-Za-z_]+(?:\.[A-Za-z_]+)+$|[A-Za-z_][A-Za-z0-9_.]*[(\[]|` +
		`(?:process|import|os|this|self|config|cfg|settings|options|opts|env|req|request)\.[A-Za-z0-9_.]+$)|^[),;+]|^\.[a-z]+\(`)
	// mention is a variable name that says what it holds.
	mention = regexp.MustCompile(`(?i)^!*[a-z_.]*(?:pass|pwd|secret|token|key|credential)[a-z_.]*$`)
	// keyName is the name of a key: testRSA2048PrivateKey.
	keyName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(?:Secret|Token|Key)$`)
)

// words are what people and programs write instead of a secret.
var words = func() map[string]bool {
	all := map[string]bool{}
	for _, w := range strings.Fields(`
		string str text bytes byte bool boolean int integer number uint8 uint16 uint32 uint64 int32 int64 float64 object any
		null nil none true false undefined value values input name
		required optional empty missing invalid expired wrong incorrect changed unknown default policy manager reset login
		enabled disabled hidden masked unset redacted protected todo prompt placeholder
		submit username email login continue cancel forgot await async function func lambda return
		your here this that with from and the not for was has been must should
		md5 sha1 sha256 sha384 sha512 base64 bcrypt scrypt argon2 argon2id pbkdf2 aes128 aes256 rsa2048 rsa4096
		utf8 oauth2 hs256 rs256 es256`) {
		all[w] = true
	}
	return all
}()

// isPlaceholder reports whether a value is a placeholder for a secret.
func isPlaceholder(value string) bool {
	one := len(value) == 1 && isAlnum(value[0])
	return strings.Trim(value, value[:1]) == "" && !one && !isDigit(value[0]) || variable.MatchString(value)
}

// isName reports whether a value is a word of the language or of a program.
func isName(value string) bool {
	return words[strings.ToLower(value)] || program.MatchString(value)
}
