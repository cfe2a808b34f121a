package i18n

import "testing"

func TestANameIsNoMarkup(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"张三-研发": "张三-研发", "Tom (PM)": "Tom (PM)", "O'Neil": "O'Neil", "小明": "小明", "Ann Lee 2": "Ann Lee 2", "Zoë": "Zoë",
		"- a": "`- a`", "a_b": "`a_b`", "evil.example": "`evil.example`",
	} {
		if got := SafeName(name); got != want {
			t.Errorf("SafeName(%q) = %q, want %q", name, got, want)
		}
	}
}
