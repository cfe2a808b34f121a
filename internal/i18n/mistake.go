package i18n

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Mistake is an error that the operator has to correct, in both languages. As an error it is English.
type Mistake struct {
	zh, en string
	args   []any
}

// Mistakef makes a [Mistake]. Both texts take the same arguments of fmt.Sprintf, which a test checks; arguments that
// are errors are translated if possible, and durations are written as in a configuration file.
func Mistakef(zh, en string, args ...any) error {
	for i, a := range args {
		if d, ok := a.(time.Duration); ok {
			args[i] = SettingDuration(d)
		}
	}
	return &Mistake{zh, en, args}
}

func (m *Mistake) Error() string { return fmt.Sprintf(m.en, m.args...) }

// Listing is a list of words that cannot be translated, such as names and values, for the arguments of a [Mistake]. Its
// commas are those of the language.
func Listing(words []string) error { return listing(words) }

type listing []string

func (l listing) Error() string { return strings.Join(l, ", ") }

// In is the list with the commas of a language.
func (l listing) In(lang Lang) string { return strings.Join(l, Enumeration.In(lang)) }

// In is the error message in a language.
func (m *Mistake) In(l Lang) string {
	args := make([]any, len(m.args))
	for i, a := range m.args {
		if err, ok := a.(error); ok {
			a = errors.New(ErrorText(l, err))
		}
		args[i] = a
	}
	return fmt.Sprintf(Phrase{m.zh, m.en}.In(l), args...)
}

// Unwrap is the first of the arguments that is an error.
func (m *Mistake) Unwrap() error {
	for _, a := range m.args {
		if err, ok := a.(error); ok {
			return err
		}
	}
	return nil
}

// ErrorText is what an error says in a language: in English without the names of system calls, in Chinese where a
// translation exists. An error with a method In(Lang) says it itself. Errors around it stay as they are.
func ErrorText(l Lang, err error) string {
	if e, ok := err.(interface{ In(Lang) string }); ok { //nolint:errorlint // errors around it are kept
		return e.In(l)
	}
	if text := systemErrorText(err, l); text != "" {
		return text
	}
	var inner []error
	switch e := err.(type) { //nolint:errorlint // errors around it are kept
	case interface{ Unwrap() []error }:
		inner = e.Unwrap()
	case interface{ Unwrap() error }:
		inner = []error{e.Unwrap()}
	}
	text := err.Error()
	for _, e := range inner {
		if e != nil {
			text = strings.Replace(text, e.Error(), ErrorText(l, e), 1)
		}
	}
	return text
}
