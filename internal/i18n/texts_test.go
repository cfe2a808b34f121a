package i18n_test

import (
	"regexp"
	"strings"
	"testing"

	"magpie/internal/i18n"
	"magpie/internal/i18n/i18ntest"
)

// internals are words that no user should have to read.
var internals = regexp.MustCompile(`(?i)sqlite|database|数据库|stack|panic|goroutine|/home|/root|/tmp|\.go\b|stdin|` +
	`stderr|json|uuid|nil\b|context deadline|exit status|%!`)

func TestEveryTextIsThereInBothLanguages(t *testing.T) {
	all := i18ntest.Texts(t, "texts_*.go")
	i18ntest.Check(t, all)
	for name, p := range all {
		letters := strings.ContainsFunc(i18ntest.FormatVerb.ReplaceAllString(p.ZH, ""), isLetter)
		if i18n.Detect(p.ZH) != i18n.Chinese && letters || i18n.Detect(p.EN) == i18n.Chinese {
			t.Errorf("%s is in the wrong language: %+v", name, p)
		}
		if bad := internals.FindString(p.ZH + p.EN); bad != "" {
			t.Errorf("%s shows internals: %q", name, bad)
		}
		if strings.ContainsAny(p.EN, "，。：；") {
			t.Errorf("%s is not set like English: %q", name, p.EN)
		}
	}
	if len(all) < 400 || all["Stopped"] != i18n.Stopped {
		t.Errorf("only %d phrases were read", len(all))
	}
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
