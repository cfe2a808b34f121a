package doctor

import (
	"testing"

	"magpie/bridge/i18n/i18ntest"
)

func TestTextsAreComplete(t *testing.T) {
	all := i18ntest.Texts(t, "texts.go")
	i18ntest.Check(t, all)
	if len(all) < 70 || all["textNoConfig"] != textNoConfig {
		t.Errorf("only %d texts were read", len(all))
	}
}
