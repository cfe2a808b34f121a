// Package i18n holds every text for users in chats, in both languages, and formats amounts, durations and other
// people's words for these texts. It does not decide when to say something and to whom. It holds no texts for the
// operator, which are phrases beside the commands that print them, and none for the agent.
package i18n

import "fmt"

// Lang is the language of a chat; empty = unknown.
type Lang string

// The languages, as stored and configured.
const (
	Chinese Lang = "zh"
	English Lang = "en"
)

// Phrase is one text in both languages. Both take the same arguments of fmt.Sprintf, which a test checks.
type Phrase struct{ ZH, EN string }

// In returns the phrase in English if l is English, otherwise in Chinese.
func (p Phrase) In(l Lang) string {
	if l == English {
		return p.EN
	}
	return p.ZH
}

// Plural returns the phrase for n things.
func Plural(n int, one, many Phrase) Phrase {
	if n == 1 {
		return one
	}
	return many
}

// Sprintf formats the phrase in a language.
func (p Phrase) Sprintf(l Lang, args ...any) string {
	if len(args) == 0 {
		return p.In(l)
	}
	return fmt.Sprintf(p.In(l), args...)
}
