package i18n

import (
	"strings"
	"testing"

	"magpie/internal/text"
)

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

// A fence is longer than any run in the block, and not longer than cards accept.
func TestACodeBlockHoldsFences(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 3, 7, 31, 32, 1000, 200_000} {
		code := "a" + strings.Repeat("`", n) + "b"
		block := CodeBlock("go", code)
		fence := block[:text.LongestRun(block, '`')]
		if block != fence+"go\n"+strings.TrimSuffix(strings.TrimPrefix(block, fence+"go\n"), "\n"+fence+"\n")+"\n"+fence+"\n" ||
			strings.Count(block, fence) != 2 || len(fence) < 3 || len(fence) > 32 {
			t.Errorf("%d backquotes: the fence has %d", n, len(fence))
		}
		if got := strings.ReplaceAll(block, "\u200b", ""); !strings.Contains(got, code) {
			t.Errorf("%d backquotes: the block lacks the code", n)
		}
	}
}
