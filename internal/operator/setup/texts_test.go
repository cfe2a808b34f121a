package setup

import (
	"testing"

	"magpie/internal/i18n/i18ntest"
)

// Every text exists in both languages and takes the same values in both.
func TestTextsAreComplete(t *testing.T) {
	all := i18ntest.Texts(t, "texts.go")
	i18ntest.Check(t, all)
	if len(all) < 50 || all["textWelcome"] != textWelcome {
		t.Errorf("only %d texts were read", len(all))
	}
}
