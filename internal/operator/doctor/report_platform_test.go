package doctor

import (
	"strings"
	"testing"

	"magpie/feishu"
	"magpie/internal/i18n"
)

// A finding about the platform names the one that the app is on.
func TestFindingsNameThePlatform(t *testing.T) {
	for _, tc := range []struct {
		lang i18n.Lang
		url  string
		want string
	}{
		{i18n.English, "", "Feishu: the App ID and App Secret are valid"},
		{i18n.English, "lark", "Lark: the App ID and App Secret are valid"},
		{i18n.Chinese, "", "飞书：App ID 和 App Secret 有效"},
		{i18n.Chinese, "lark", "Lark：App ID 和 App Secret 有效"},
	} {
		r := Report{Lang: tc.lang}
		r.AddFinding(OK, "", i18n.DoctorTaken, feishu.Config{BaseURL: tc.url}.PlatformName())
		if got := r.Findings[0].What; got != tc.want {
			t.Errorf("%s, %q: %q, want %q", tc.lang, tc.url, got, tc.want)
		}
	}
}

// Who uses a public platform has set no address that could be wrong.
func TestTheAddressIsOnlyDoubtedWhereItIsSet(t *testing.T) {
	for address, doubted := range map[string]bool{
		"": false, "lark": false, "Feishu": false, "https://open.feishu.cn/": false, "https://feishu.example.org": true,
	} {
		got := adviceOf(feishu.Config{BaseURL: address})
		for _, text := range []string{got.ZH, got.EN} {
			if strings.Contains(text, "base_url") != doubted {
				t.Errorf("%q: %s", address, text)
			}
		}
	}
}
