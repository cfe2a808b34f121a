package workspace_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"magpie/internal/claude/claudetest"
	"magpie/internal/claude/workspace"
)

// The CLI silently ignores each of these settings, and the deny rules with them.
func TestSettingsThatTheCLIWouldIgnoreAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{bad canary`:                                   "not a JSON object",
		`{"a": "canary}`:                                "not a JSON object",
		`{"permissions": "canary"}`:                     "permissions: must be an object",
		`{"permissions": {"deny": "Read"}}`:             "permissions.deny",
		`{"permissions": {"deny": ["Bash(ls"]}}`:        "permissions.deny",
		`{"permissions": {"deny": [""]}}`:               "permissions.deny",
		`{"permissions": {"denied": []}}`:               "permissions.denied: no such key",
		`{"permissions": {"defaultMode": "canary"}}`:    "permission_mode",
		`{"permissions": {"additionalDirectories": 1}}`: "permissions.additionalDirectories",
		`{"env": {"A": 1}}`:                             "env",
		`{"model": 5}`:                                  "model: must be a string",
		`{"hooks": {"PreToolUse": {}}}`:                 "hooks",
		`{"hooks": {"PreToolUse": [{"hooks": [1]}]}}`:   "hooks",
		`{"cleanupPeriodDays": 1}`:                      "set by Magpie",
		`{"disableAllHooks": "yes"}`:                    "disableAllHooks",
	} {
		for _, file := range []bool{false, true} {
			c := claudetest.ScriptedConfig(t)
			c.Settings = text
			if file {
				c.Settings = filepath.Join(t.TempDir(), "settings.json")
				must(t, os.WriteFile(c.Settings, []byte(text), 0o600))
			}
			err := c.Validate()
			if err == nil || !strings.Contains(err.Error(), "[claude] settings") ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", text, err, want)
			}
			if err != nil && strings.Contains(err.Error(), "canary") {
				t.Errorf("%s: the message shows a value: %v", text, err)
			}
		}
	}
	for _, text := range []string{"no/such/file.json", "null"} {
		if err := (workspace.Config{Settings: text}).Validate(); err == nil ||
			!strings.Contains(err.Error(), "[claude] settings") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestSettingSourcesAndFoldersAreChecked(t *testing.T) {
	t.Parallel()
	c := claudetest.ScriptedConfig(t)
	c.SettingSources, c.ConfigDir, c.User = []string{"user", "everything"}, "mine", "no-such-user-4711"
	err := c.Validate()
	for _, want := range []string{`setting_sources "everything"`, `config_dir "mine"`, "[claude] user"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %s", err, want)
		}
	}
}

func TestRulesWithoutAPath(t *testing.T) {
	c := workspace.Config{
		AllowedTools: []string{
			"Read", "Read(./**)", "Edit(*)", "Write(//**)", "Bash", "Bash(*)", "Bash(:*)", "Bash(git status)",
			"Read(~/docs/**)", "WebFetch", "mcp__x__y",
		},
		Settings: `{"permissions":{"allow":["Grep","Glob(src/**)"]}}`,
	}
	want := []string{"Read", "Edit(*)", "Write(//**)", "Bash", "Bash(*)", "Bash(:*)", "Grep"}
	if got := c.BareRules(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
