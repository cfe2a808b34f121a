package doctor

import (
	"os"
	"strings"
	"testing"

	"magpie/internal/i18n"
	"magpie/internal/i18n/i18ntest"
)

func TestTextsAreComplete(t *testing.T) {
	all := i18ntest.Texts(t, "texts.go")
	i18ntest.Check(t, all)
	if len(all) < 70 || all["textNoConfig"] != textNoConfig {
		t.Errorf("only %d texts were read", len(all))
	}
}

// Texts and the guide use the console's own names for its pages.
func TestTextsUseTheConsolesNames(t *testing.T) {
	guide, err := os.ReadFile("../../../docs/feishu-app.md")
	if err != nil {
		t.Fatal(err)
	}
	for word, texts := range map[string][]i18n.Phrase{
		"Receive events through persistent connection": {textAddEvents},
		"Version Management & Release":                 {textAddBot, textAddScopes, textAddEvents},
		"Credentials & Basic Info":                     {textCopyAgain},
		"Availability":                                 nil, "Custom App": nil,
	} {
		if !strings.Contains(string(guide), "*"+word+"*") {
			t.Errorf("the guide does not name %q", word)
		}
		for _, text := range texts {
			if !strings.Contains(text.EN, word) {
				t.Errorf("%q does not name %q", text.EN, word)
			}
		}
	}
}
