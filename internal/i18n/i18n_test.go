package i18n

import (
	"io/fs"
	"syscall"
	"testing"
	"time"
)

// After 1 a noun is in the singular.
func TestANumberChoosesTheFormOfItsWord(t *testing.T) {
	for _, tc := range []struct {
		text string
		args []any
		want string
	}{
		{"%d message(s)", []any{1}, "1 message"},
		{"%d message(s)", []any{int64(0)}, "0 messages"},
		{"%[2]d message(s) in %[1]d chat(s)", []any{1, 4}, "4 messages in 1 chat"},
		{"%s: %d memor(y|ies) (%d process(|es))", []any{"1", 1, 2}, "1: 1 memory (2 processes)"},
		{"100 %% (all) of %d | %d (is|are) gone", []any{1, 2}, "100 % (all) of 1 | 2 are gone"},
		{"%s messages", []any{"two(s)"}, "two(s) messages"},
	} {
		if got := (Phrase{EN: tc.text}).Sprintf(English, tc.args...); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.text, got, tc.want)
		}
	}
}

// A duration is in words, not as in a program.
func TestADurationIsSaidInTheLanguageOfTheText(t *testing.T) {
	p := Phrase{"在 %v 内", "within %v"}
	for d, want := range map[time.Duration][2]string{
		5 * time.Minute: {"在 5 分钟 内", "within 5 min"}, 24 * time.Hour: {"在 24 小时 内", "within 24 h"},
		90 * time.Second: {"在 1 分 30 秒 内", "within 1 min 30 s"}, 49 * time.Millisecond: {"在 1 秒 内", "within 1 s"},
	} {
		if got := [2]string{p.Sprintf(Chinese, d), p.Sprintf(English, d)}; got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

// An error inside a text is in the language of the text.
func TestAnErrorIsSaidInTheLanguageOfTheText(t *testing.T) {
	p := Phrase{"读不了 %s：%v", "cannot read %s: %v"}
	err := &fs.PathError{Op: "open", Path: "/x", Err: syscall.EACCES}
	if zh, en := p.Sprintf(Chinese, "x", err), p.Sprintf(English, "x", err); zh != "读不了 x：/x：没有权限" ||
		en != "cannot read x: /x: permission denied" {
		t.Errorf("%s, %s", zh, en)
	}
}
