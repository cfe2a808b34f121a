package main

import (
	"reflect"
	"regexp"
	"slices"
	"testing"
)

var verb = regexp.MustCompile(`%(\[\d\])?0?\d*[a-zA-Z]`)

// Every text is there in both languages, and takes the same values in both.
func TestTextsAreComplete(t *testing.T) {
	for _, catalogue := range []any{doctorTexts, setupTexts} {
		v := reflect.ValueOf(catalogue)
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			p, ok := v.Field(i).Interface().(phrase)
			if !ok || p.ZH == "" || p.EN == "" {
				t.Errorf("%s: %+v", name, p)
			}
			if a, b := len(verb.FindAllString(p.ZH, -1)), len(verb.FindAllString(p.EN, -1)); a != b {
				t.Errorf("%s takes %d values in Chinese and %d in English", name, a, b)
			}
		}
	}
}

func TestLangOf(t *testing.T) {
	for _, tc := range []struct {
		environ []string
		want    lang
	}{
		{[]string{"LANG=zh_CN.UTF-8"}, zh},
		{[]string{"LANG=zh_CN.UTF-8", "LC_ALL=C"}, en},
		{[]string{"LANG=en_US.UTF-8", "LC_MESSAGES=zh_TW"}, zh},
		{[]string{"LANG=C.UTF-8"}, en},
		{nil, en},
	} {
		if got := langOf(tc.environ); got != tc.want {
			t.Errorf("%s: %s, want %s", slices.Clone(tc.environ), got, tc.want)
		}
	}
}
