package workspace

import (
	"strings"
	"testing"

	"magpie/internal/i18n"
)

// A rule that is refused is explained in Chinese, too, whatever the command can do.
func TestRefusedRulesAreExplainedInChinese(t *testing.T) {
	for name, c := range bashCommands {
		if c.can == nil {
			continue
		}
		got := i18n.ErrorText(i18n.Chinese, checkBashRule("Bash("+name+" *)"))
		if strings.Contains(got, c.can.Error()) || !strings.Contains(got, "能做别的事：") || strings.Contains(got, "：。") {
			t.Errorf("%s: %s", name, got)
		}
	}
}
