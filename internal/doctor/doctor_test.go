package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The doctor takes the versions for the right ones that the tests run.
func TestTestedCLI(t *testing.T) {
	for folder, want := range map[string]string{".": TestedCLI, "oldest": OldestCLI} {
		data, err := os.ReadFile(filepath.Join("..", "..", "scripts", "cli", folder, "package.json"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(data), `"@anthropic-ai/claude-code": "`+want+`"`) {
			t.Errorf("scripts/cli/%s pins another version than %s", folder, want)
		}
	}
	for page, want := range map[string]string{
		"README.md":    "with Claude Code " + OldestCLI + " to " + TestedCLI + ".",
		"README.zh.md": "Claude Code " + OldestCLI + " 到 " + TestedCLI + "；",
	} {
		if data, err := os.ReadFile(filepath.Join("..", "..", page)); err != nil || !strings.Contains(string(data), want) {
			t.Errorf("%s does not say %q: %v", page, want, err)
		}
	}
	for _, tc := range []struct {
		a, b string
		want int
	}{{"2.1.9", "2.1.10", -1}, {"2.2.0", "2.1.197", 1}, {"2.1.197", "2.1.197", 0}, {"nightly", "2.1.197", -1}} {
		if got := compareVersions(tc.a, tc.b); got != tc.want {
			t.Errorf("%s against %s: %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}
