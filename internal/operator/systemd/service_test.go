package systemd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"magpie/internal/i18n"
)

// The language is that of the dialog that installs the service, else of the configuration, else of the locale.
func TestAServiceSpeaksTheConfiguredLanguage(t *testing.T) {
	t.Setenv("LC_ALL", "zh_CN.UTF-8")
	for _, tc := range []struct {
		dialog     i18n.Lang
		configured string
		want       string
	}{
		{"", "auto", "不需要做什么"}, {"", "zh", "不需要做什么"}, {"", "en", "nothing to do"}, {"zh", "en", "不需要做什么"},
		{"en", "auto", "nothing to do"},
	} {
		file := filepath.Join(t.TempDir(), "magpie.toml")
		if err := os.WriteFile(file, []byte("[feishu]\nlang = \""+tc.configured+"\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		u, err := Installation{Service: Service{Name: "magpie", Lang: tc.dialog}, Config: file}.unit(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := i18n.ServiceNothingToDo.Line(u.Lang, "x"); !strings.Contains(got, tc.want) {
			t.Errorf("dialog %q, configuration %q: %s", tc.dialog, tc.configured, got)
		}
	}
}
