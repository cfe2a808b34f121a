// Package i18n holds every text that people in chats read, once and in both languages, and writes amounts, lengths of
// time and other people's words as they stand in those texts. When something is said, and to whom, does not belong
// here, nor what the operator reads in a terminal, nor what the agent reads. The operator's texts are phrases, too, but
// stand beside the commands that print them.
package i18n

import "fmt"

// Lang is a language in which a chat is spoken to; empty = it is not known.
type Lang string

// The languages, as they are stored and configured.
const (
	Chinese Lang = "zh"
	English Lang = "en"
)

// Phrase is one text in both languages. Both take the same arguments of fmt.Sprintf, which a test checks.
type Phrase struct{ ZH, EN string }

// In is the phrase in a language; Chinese, unless that is English.
func (p Phrase) In(l Lang) string {
	if l == English {
		return p.EN
	}
	return p.ZH
}

// Plural is the phrase for a number of things.
func Plural(n int, one, many Phrase) Phrase {
	if n == 1 {
		return one
	}
	return many
}

// Sprintf is the phrase in a language, with its arguments.
func (p Phrase) Sprintf(l Lang, args ...any) string {
	if len(args) == 0 {
		return p.In(l)
	}
	return fmt.Sprintf(p.In(l), args...)
}
