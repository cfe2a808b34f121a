package config

import (
	"errors"
	"strings"
	"testing"

	"magpie/internal/claude/claudetest"
	"magpie/internal/i18n"
)

// A bot without Feishu is one whose operator wrote so: otherwise the app is missing by mistake, and the error says how
// to do without it.
func TestABotWithoutFeishu(t *testing.T) {
	const hint = "for a bot without Feishu, in the terminal only, write [terminal] enabled = true"
	rest := "[claude]\ncommand = \"" + claudetest.Scripted(t) + "\"\nproject = \"" + t.TempDir() + "\"\n[access]\nallow = [\"*\"]\n"
	const on, app = "[terminal]\nenabled = true\n", "[feishu]\napp_id = \"cli_1\"\napp_secret = \"s\"\n"
	for text, want := range map[string]string{
		on: "", app: "", app + on: "", app + "[terminal]\nenabled = false\n": "",
		"": hint, "[terminal]\nenabled = false\n": hint, "[feishu]\nbase_url = \"lark\"\n": hint,
		"[terminal]\nenabled = 1\n":           "[terminal] enabled: must be true or false, not a whole number",
		on + "[feishu]\napp_id = \"cli_1\"\n": "[feishu] app_secret is empty",
		on + "[feishu]\napp_secret = \"s\"\n": "[feishu] app_id is empty",
		"[feishu]\napp_id = \"cli_1\"\n":      "[feishu] app_secret is empty",
		"[terminal]\nenabld = true\n":         "did you mean terminal.enabled?",
	} {
		c, err := Load(writeConfig(t, text+rest), nil)
		if (err == nil) != (want == "") || err != nil && strings.Count(err.Error(), want) != 1 {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
		if want == hint && (!strings.Contains(err.Error(), "[feishu] app_id is empty") ||
			!strings.Contains(i18n.ErrorText(i18n.Chinese, err), "不接飞书、只在终端里用的机器人：写 [terminal] enabled = true")) {
			t.Errorf("%q: %v", text, err)
		} else if strings.Contains(text, "app_") && err != nil && strings.Contains(err.Error(), hint) {
			t.Errorf("%q: it has something of an app, and the error speaks of none: %v", text, err)
		}
		if err == nil && c.HasFeishu() != strings.Contains(text, "cli_1") ||
			c.Terminal.IsOn() == strings.Contains(text, "enabled = false") {
			t.Errorf("%q: Feishu %v, terminal %v", text, c.HasFeishu(), c.Terminal.IsOn())
		}
	}
	t.Chdir(t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	if _, err := Load("", nil); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), hint) {
		t.Errorf("without a file: %v", err)
	}
	environ := []string{
		"MAGPIE_CLAUDE_COMMAND=" + claudetest.Scripted(t), "MAGPIE_CLAUDE_PROJECT=" + t.TempDir(), "MAGPIE_TERMINAL_ENABLED=true",
		"LANG=zh_CN.UTF-8",
	}
	c, err := Load("", environ)
	if err != nil || c.BridgeConfig().NewLang != "zh" {
		t.Errorf("by the environment: %v, %q", err, c.BridgeConfig().NewLang)
	}
	if c.Claude.Environ = []string{"LANG=en_US.UTF-8"}; c.BridgeConfig().NewLang != "en" {
		t.Errorf("the terminal's language is not taken: %q", c.BridgeConfig().NewLang)
	}
	if _, err := Load("", append(environ[:2], "MAGPIE_TERMINAL_ENABLED=perhaps")); err == nil ||
		!strings.Contains(err.Error(), "MAGPIE_TERMINAL_ENABLED: must be true or false") {
		t.Errorf("a wrong variable: %v", err)
	}
}
