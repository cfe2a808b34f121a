package configtype

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
			args[i] = Duration{d}
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

// Chinese is the list with Chinese commas.
func (l listing) Chinese() string { return strings.Join(l, "、") }

// say is the error message in a language.
func (m *Mistake) say(l language) string {
	args := make([]any, len(m.args))
	for i, a := range m.args {
		if err, ok := a.(error); ok {
			a = errors.New(errorText(err, l))
		}
		args[i] = a
	}
	return fmt.Sprintf([...]string{m.zh, m.en}[l], args...)
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

// language is one of the two in which errors are said.
type language int

const (
	chinese language = iota
	english
)

// Chinese translates an error message to Chinese where a translation exists. Errors around it stay as they are.
func Chinese(err error) string { return errorText(err, chinese) }

// English is an error message without the names of system calls.
func English(err error) string { return errorText(err, english) }

func errorText(err error, l language) string {
	switch e := err.(type) { //nolint:errorlint // errors around it are kept
	case *Mistake:
		return e.say(l)
	case interface{ Chinese() string }:
		if l == chinese {
			return e.Chinese()
		}
		if e, ok := e.(interface{ English() string }); ok {
			return e.English()
		}
	}
	if text := systemErrorText(err, l); text != "" {
		return text
	}
	var inner []error
	switch e := err.(type) { //nolint:errorlint // as above
	case interface{ Unwrap() []error }:
		inner = e.Unwrap()
	case interface{ Unwrap() error }:
		inner = []error{e.Unwrap()}
	}
	text := err.Error()
	for _, e := range inner {
		if e != nil {
			text = strings.Replace(text, e.Error(), errorText(e, l), 1)
		}
	}
	return text
}
