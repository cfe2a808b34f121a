package bridge

import (
	"slices"
	"testing"

	"magpie/internal/i18n"
)

func TestLanguageOfAMessage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]i18n.Lang{
		"你好": i18n.Chinese, "fix the 登录 bug": i18n.Chinese, "hello there": i18n.English, "ok": "", "123 + 4?": "", "": "",
		"👍👍👍": "",
	} {
		if got := i18n.Detect(text); got != want {
			t.Errorf("langOf(%q) = %q, want %q", text, got, want)
		}
	}
}

// A Chinese chat switches to English for a sentence, but not for the Latin letters that a Chinese speaker types.
func TestLanguageToWhichAMessageTurnsAChat(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text         string
		zh, en, none i18n.Lang // to what it turns a chat that speaks Chinese, English, or that nobody has spoken in
	}{
		{"git status", "", i18n.English, i18n.English},
		{"docker compose up -d", "", i18n.English, i18n.English},
		{"LGTM", "", i18n.English, i18n.English},
		{"ok", "", "", ""},
		{"SELECT name FROM users WHERE id = 1 ORDER BY name", "", i18n.English, i18n.English},
		{"TypeError: x is not a function", "", i18n.English, i18n.English},
		{"fix this", "", i18n.English, i18n.English},
		{"https://example.com/what/is/the/matter", "", i18n.English, i18n.English},
		{"What is my name?", i18n.English, i18n.English, i18n.English},
		{"Please tell me what they’re doing.", i18n.English, i18n.English, i18n.English},
		{"please count to 3", i18n.English, i18n.English, i18n.English},
		{"git push to origin and tag", "", i18n.English, i18n.English},
		{"Fix the bug in the login page", i18n.English, i18n.English, i18n.English},
		{"Why does `打印()` fail in this?", i18n.English, i18n.English, i18n.English},
		{"`git status`", "", "", ""},
		{"```\nthat is what you said: 你好\n", "", "", ""},
		{"git status 是什么", i18n.Chinese, i18n.Chinese, i18n.Chinese},
	} {
		if got := i18n.DetectSwitch(tc.text, i18n.Chinese); got != tc.zh {
			t.Errorf("%q turns a Chinese chat to %q, want %q", tc.text, got, tc.zh)
		}
		if got := i18n.DetectSwitch(tc.text, i18n.English); got != tc.en {
			t.Errorf("%q turns an English chat to %q, want %q", tc.text, got, tc.en)
		}
		if got := i18n.DetectSwitch(tc.text, ""); got != tc.none {
			t.Errorf("%q turns a new chat to %q, want %q", tc.text, got, tc.none)
		}
	}
}

func TestCommandsAreRecognised(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"/new": "/new", "/NEW": "/new", "/reset now": "/reset", "/stop\n": "/stop", "/nosuch": "/nosuch",
		"/nosuch thing":  "/nosuch",
		"/etc/hosts 是什么": "", "/": "", "/ new": "", "/　new": "", "//new": "", "new": "", " /new": "", "/v1": "", "": "",
		"／":    "",
		"／new": "/new", "／NoSuch": "/NoSuch", "/new　": "/new", "/你好": "", "/停": "/停", "/新回话": "/新回话", "/停 一下": "",
		"/怎么用": "", "/usr": "/usr", "／etc/hosts": "",
	} {
		cmd, name, _ := parseCommand(text)
		if name != want || (cmd != nil) != slices.Contains([]string{"/new", "/reset", "/stop"}, want) {
			t.Errorf("parseCommand(%q) = %v, %q, want %q", text, cmd != nil, name, want)
		}
	}
}
