package redact

import "bytes"

// maskIDs hides words whose digits are not personal: UUIDs, hashes, hexadecimal and typed constants of programs, and
// IDs of Feishu and of Claude.
func maskIDs(text []byte) []byte {
	plain := bytes.Clone(text)
	for i := 0; i < len(text); {
		if !isAlnum(text[i]) {
			i++
			continue
		}
		j := i
		for j < len(text) && isAlnum(text[j]) {
			j++
		}
		switch word := text[i:j]; {
		case isUUID(text[i:]):
			j = i + uuidLength
			hide(plain[i:j])
		case at(text, j) == '_' && idPrefixes[string(word)]:
			for j < len(text) && (isAlnum(text[j]) || text[j] == '_') {
				j++
			}
			hide(plain[i:j])
		case isHash(word) || isConstant(word):
			if c := at(text, j); word[len(word)-1]|0x20 == 'p' && (c == '+' || c == '-') { // 0x1p+52
				for j++; j < len(text) && isDigit(text[j]); j++ {
				}
			}
			hide(plain[i:j])
		}
		i = j
	}
	return plain
}

// idPrefixes are the prefixes of IDs that operators use in searches and logs.
var idPrefixes = map[string]bool{
	"om": true, "omt": true, "oc": true, "ou": true, "on": true, "od": true, "og": true, "cli": true, // Feishu
	"img": true, "file": true,
	"msg": true, "req": true, "toolu": true, "session": true, // Claude
}

// uuidLength is that of the usual form with four dashes (RFC 9562).
const uuidLength = 36

// isUUID reports whether a text begins with a UUID.
func isUUID(text []byte) bool {
	if len(text) < uuidLength || isAlnum(at(text, uuidLength)) {
		return false
	}
	for i, c := range text[:uuidLength] {
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if !isHex(c) {
				return false
			}
		}
	}
	return true
}

// shortHash is the length of git's shortest commit hashes.
const shortHash = 7

// isHash reports whether a word is hexadecimal, and not just a number or a word of a language.
func isHash(word []byte) bool {
	if len(word) < shortHash {
		return false
	}
	digits, letters := 0, 0
	for _, c := range word {
		switch {
		case isDigit(c):
			digits++
		case isHex(c):
			letters++
		default:
			return false
		}
	}
	return digits > 0 && letters > 0
}

// suffixes are the type suffixes of constants.
var suffixes = map[string]bool{
	"l": true, "ll": true, "u": true, "ul": true, "ull": true, "n": true,
	"i64": true, "u64": true, "i128": true, "u128": true, "f64": true, "usize": true, "isize": true,
}

// isConstant reports whether a word is a constant of a program: 0x7f, 42ULL.
func isConstant(word []byte) bool {
	if len(word) > 2 && word[0] == '0' && word[1]|0x20 == 'x' {
		return true
	}
	n := 0
	for n < len(word) && isDigit(word[n]) {
		n++
	}
	return n > 0 && n < len(word) && suffixes[string(bytes.ToLower(word[n:]))]
}

// codeBlocks lists the code blocks of a text as start and end positions. An unclosed block extends to the end.
func codeBlocks(text []byte) [][2]int {
	var blocks [][2]int
	start, fence := -1, []byte(nil)
	for i := 0; i < len(text); {
		line := text[i:]
		next := len(text)
		if n := bytes.IndexByte(line, '\n'); n >= 0 {
			line, next = line[:n], i+n+1
		}
		f := fenceOf(line)
		switch {
		case start < 0 && f != nil:
			start, fence = i, f
		case start >= 0 && len(f) >= len(fence) && f[0] == fence[0] && len(bytes.Trim(line, " \t\r`~>")) == 0:
			blocks, start = append(blocks, [2]int{start, next}), -1
		}
		i = next
	}
	if start >= 0 {
		blocks = append(blocks, [2]int{start, len(text)})
	}
	return blocks
}

// fenceOf is the run of backticks or tildes with which a line starts or ends a code block.
func fenceOf(line []byte) []byte {
	line = bytes.TrimLeft(line, " \t>")
	for _, c := range "`~" {
		n := 0
		for n < len(line) && line[n] == byte(c) {
			n++
		}
		if n >= 3 {
			return line[:n]
		}
	}
	return nil
}
