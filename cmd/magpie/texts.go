package main

import (
	"fmt"
	"strings"

	"github.com/caarlos0/env/v11"
)

// lang is the language in which the operator is spoken to.
type lang string

const (
	zh lang = "zh"
	en lang = "en"
)

// langOf gives the language of the environment's locale (locale(7): the first of these variables that is set counts).
func langOf(environ []string) lang {
	vars := env.ToMap(environ)
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if v := vars[name]; v != "" {
			if strings.HasPrefix(strings.ToLower(v), "zh") {
				return zh
			}
			return en
		}
	}
	return en
}

// phrase is one thing that the operator is told.
type phrase struct{ ZH, EN string }

// say gives the phrase with its values.
func (l lang) say(p phrase, args ...any) string {
	text := p.EN
	if l == zh {
		text = p.ZH
	}
	if len(args) == 0 {
		return text
	}
	return fmt.Sprintf(text, args...)
}
