package feishu

import (
	"strings"
	"testing"

	"magpie/internal/i18n"
)

func TestConfig(t *testing.T) {
	good := []Config{
		{AppID: "cli_1", AppSecret: "s"},
		{AppID: "cli_1", AppSecret: "s", BaseURL: "lark"},
		{AppID: "cli_1", AppSecret: "s", BaseURL: "http://127.0.0.1:80/"},
	}
	for _, c := range good {
		if err := c.Validate(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
	err := Config{BaseURL: "nowhere"}.Validate()
	for _, key := range []string{"[feishu] app_id", "[feishu] app_secret", "[feishu] base_url"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%v does not name %s", err, key)
		}
	}
	if err := (Config{AppID: "1", AppSecret: "hush"}).Validate(); err == nil || strings.Contains(err.Error(), "hush") {
		t.Errorf("error %v", err)
	}
	if err := (Config{AppID: "cli_1", AppSecret: "x", Pace: -1}).Validate(); err == nil ||
		!strings.Contains(err.Error(), "pace") {
		t.Errorf("a negative pace: %v", err)
	}
	if got := good[1].baseURL(); got != hostLark {
		t.Errorf("lark is %s", got)
	}
	if got := good[2].baseURL(); got != "http://127.0.0.1:80" {
		t.Errorf("address is %s", got)
	}
}

// An invalid App ID is detected without asking the platform.
func TestFormsOfTheApp(t *testing.T) {
	for id, want := range map[string]bool{
		"cli_a1b2c3d4e5f60718": true, "cli_1": true, "": false, "cli_": false, "cli_...": false, "cli_xxx": false,
		"xiaoming": false, "cli_a b": false, "cli_名": false, "my cli_1": false, "ou_1": false,
	} {
		c := Config{AppID: id, AppSecret: "s"}
		if IsAppID(id) != want || (c.Validate() == nil) != want {
			t.Errorf("%q: %v, %v", id, IsAppID(id), c.Validate())
		}
	}
	for address, want := range map[string]bool{
		"": true, "feishu": true, "Lark": true, "https://open.feishu.cn/": true, "wechat": false, "open.feishu.cn": false,
		"ftp://x": false,
	} {
		if IsBaseURL(address) != want {
			t.Errorf("%q: %v", address, !want)
		}
	}
}

// The language of the bot, and of chats in which nobody has written yet.
func TestLanguageOfTheBot(t *testing.T) {
	for _, tc := range []struct{ lang, base, first, toast string }{
		{"", "", "zh", i18n.ButtonStale.ZH}, {"", "lark", "en", i18n.ButtonStale.EN},
		{"en", "", "zh", i18n.ButtonStale.EN}, {"zh", "lark", "en", i18n.ButtonStale.ZH},
	} {
		c := Config{Lang: tc.lang, BaseURL: tc.base}
		if c.DefaultLang() != tc.first || c.text(i18n.ButtonStale) != tc.toast {
			t.Errorf("%+v: %q %q", tc, c.DefaultLang(), c.text(i18n.ButtonStale))
		}
	}
}
