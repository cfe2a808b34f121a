// Package i18n says things to people in both languages: it holds every text for users in chats and for operators,
// makes errors that an operator has to correct ([Mistakef]), puts errors of the system into words, and formats amounts,
// durations and other people's words. It does not decide when to say something and to whom, and holds no texts for the agent.
package i18n

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Lang is the language of a chat; empty = unknown.
type Lang string

// The languages, as stored and configured.
const (
	Chinese Lang = "zh"
	English Lang = "en"
)

// Phrase is one text in both languages. Both take the same arguments of fmt.Sprintf, which a test checks. In English,
// "message(s)" or "memor(y|ies)" after a number is what Sprintf chooses by that number.
type Phrase struct{ ZH, EN string }

// In returns the phrase in English if l is English, otherwise in Chinese.
func (p Phrase) In(l Lang) string {
	if l == English {
		return p.EN
	}
	return p.ZH
}

// With returns the phrase with its arguments filled in.
func (p Phrase) With(args ...any) Phrase {
	return Phrase{p.Sprintf(Chinese, args...), p.Sprintf(English, args...)}
}

// Sprintf formats the phrase in a language, and so errors and durations among its arguments.
func (p Phrase) Sprintf(l Lang, args ...any) string {
	if len(args) == 0 {
		return p.In(l)
	}
	args = slices.Clone(args)
	for i, a := range args {
		switch a := a.(type) {
		case error:
			args[i] = ErrorText(l, a)
		case time.Duration:
			args[i] = ExactDuration(max(a, time.Second), l)
		}
	}
	return fmt.Sprintf(inflect(p.In(l), args), args...)
}

// Line is the phrase as a line of a terminal; without a language in that of the user who runs the program.
func (p Phrase) Line(l Lang, args ...any) string {
	return p.Sprintf(cmp.Or(l, OfLocale(os.Environ())), args...) + "\n"
}

// countedOrPlural is an argument of a text, with its index if that is written, or a word in the singular and the
// plural.
var countedOrPlural = regexp.MustCompile(`%(?:\[(\d+)\])?[-+# 0]*\d*(?:\.\d+)?[a-zA-Z%]|\((?:([a-z]*)\|)?([a-z]+)\)`)

// inflect is a text with the forms of its words that fit the number before them.
func inflect(text string, args []any) string {
	if !strings.Contains(text, "(s)") && !strings.Contains(text, "|") {
		return text
	}
	next, one := 0, false
	var b strings.Builder
	last := 0
	for _, m := range countedOrPlural.FindAllStringSubmatchIndex(text, -1) {
		part := text[m[0]:m[1]]
		b.WriteString(text[last:m[0]])
		last = m[1]
		switch {
		case part == "%%":
		case part[0] == '%':
			if m[2] >= 0 {
				next, _ = strconv.Atoi(text[m[2]:m[3]])
				next--
			}
			one = next < len(args) && fmt.Sprint(args[next]) == "1"
			next++
		case m[4] < 0 && part != "(s)": // no forms of a word
		case one && m[4] < 0:
			part = ""
		case one:
			part = text[m[4]:m[5]]
		default:
			part = text[m[6]:m[7]]
		}
		b.WriteString(part)
	}
	return b.String() + text[last:]
}

// DefaultWords are what users type to reset a choice.
var DefaultWords = []string{"default", "auto", "默认", "自动"}
