package redact

import (
	"bytes"
	"encoding/base64"
)

// The parts of keys that begin like nothing else, and are known by their dots.
const (
	discordID   = 22 // the least length of the first part of a Discord bot's token: its id in base64
	discordTime = 6  // the length of the second part
	discordSign = 25 // the least length of the third
	zhipuID     = 32 // hexadecimal: the first part of a key of Zhipu
	zhipuSecret = 16 // the second
)

// dottedKeys finds the tokens of Discord's bots (Discord, Authentication) and the keys of Zhipu (id.secret).
func dottedKeys(text []byte, found func(start, end int)) {
	for i := 0; ; {
		n := bytes.IndexByte(text[i:], '.')
		if n < 0 {
			return
		}
		dot := i + n
		start, stop := dot, dot+1
		for start > i && isTokenChar(text[start-1]) {
			start--
		}
		for stop < len(text) && isTokenChar(text[stop]) {
			stop++
		}
		i = dot + 1
		first, second := text[start:dot], text[dot+1:stop]
		switch {
		case len(second) == discordTime && at(text, stop) == '.' && isDiscordID(first):
			end := stop + 1
			for end < len(text) && isTokenChar(text[end]) {
				end++
			}
			if end-stop > discordSign {
				found(start, end)
				i = end
			}
		case len(first) == zhipuID && len(second) == zhipuSecret && isHash(first) && hasMixedRun(second):
			found(start, stop)
			i = stop
		}
	}
}

func isTokenChar(c byte) bool { return isAlnum(c) || c == '-' || c == '_' }

// isDiscordID reports whether a text is a number in base64.
func isDiscordID(text []byte) bool {
	if len(text) < discordID || len(text) > discordID+6 {
		return false
	}
	id, err := base64.RawURLEncoding.DecodeString(string(text))
	return err == nil && len(bytes.Trim(id, "0123456789")) == 0
}
