package i18n_test

import (
	"os"
	"strings"
	"testing"

	"magpie/internal/i18n"
	"magpie/internal/i18n/i18ntest"
)

// What operators read exists in both languages, too, and takes the same values in both. It may speak of files and of the
// database.
func TestEveryTextForOperatorsIsThereInBothLanguages(t *testing.T) {
	all := i18ntest.Texts(t, "operator_*.go")
	i18ntest.Check(t, all)
	if len(all) < 300 || all["SetupWelcome"] != i18n.SetupWelcome {
		t.Errorf("only %d texts were read", len(all))
	}
}

// Texts and the guide use the console's own names for its pages.
func TestTextsUseTheConsolesNames(t *testing.T) {
	guide, err := os.ReadFile("../../docs/feishu-app.md")
	if err != nil {
		t.Fatal(err)
	}
	for word, texts := range map[string][]i18n.Phrase{
		"Receive events through persistent connection": {i18n.DoctorAddEvents},
		"Version Management & Release":                 {i18n.DoctorAddBot, i18n.DoctorAddScopes, i18n.DoctorAddEvents},
		"Credentials & Basic Info":                     {i18n.DoctorCopyAgain},
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
