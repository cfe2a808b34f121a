package i18n

import (
	"io/fs"
	"syscall"
	"testing"
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

// An error inside a text is in the language of the text.
func TestAnErrorIsSaidInTheLanguageOfTheText(t *testing.T) {
	p := Phrase{"读不了 %s：%v", "cannot read %s: %v"}
	err := &fs.PathError{Op: "open", Path: "/x", Err: syscall.EACCES}
	if zh, en := p.Sprintf(Chinese, "x", err), p.Sprintf(English, "x", err); zh != "读不了 x：/x：没有权限" ||
		en != "cannot read x: /x: permission denied" {
		t.Errorf("%s, %s", zh, en)
	}
}
