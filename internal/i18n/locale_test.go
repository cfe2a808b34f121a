package i18n

import "testing"

func TestOfLocale(t *testing.T) {
	for _, tc := range []struct {
		environ []string
		want    Lang
	}{
		{[]string{"LANG=zh_CN.UTF-8"}, Chinese},
		{[]string{"LANG=zh_CN.UTF-8", "LC_ALL=C"}, English},
		{[]string{"LANG=zh_CN.UTF-8", "LC_ALL="}, Chinese},
		{[]string{"LANG=en_US.UTF-8", "LC_MESSAGES=zh_TW"}, Chinese},
		{[]string{"LANG=C.UTF-8"}, English},
		{nil, English},
	} {
		if got := OfLocale(tc.environ); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.environ, got, tc.want)
		}
	}
}
