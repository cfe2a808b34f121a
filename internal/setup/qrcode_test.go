package setup

import (
	"fmt"
	"strings"
	"testing"
)

func TestQRCodeFits(t *testing.T) {
	text := strings.Repeat("x", 458)
	code, wide, high := qrCode(text, 80, 40)
	if n := strings.Count(code, "\n"); n < 36 || n != high || wide < 70 || wide > 80 {
		t.Errorf("%d lines, %d by %d", n, wide, high)
	}
	for _, small := range [][2]int{{wide - 1, high}, {wide, high - 1}, {0, 0}} {
		if code, w, h := qrCode(text, small[0], small[1]); code != "" || w != wide || h != high {
			t.Errorf("%v: a code is drawn that does not fit, or %d by %d are wanted", small, w, h)
		}
	}
	link := "https://open.feishu.cn/page/cli?user_code=ABCD-EFGH&" + strings.Repeat("x", 82) // 134 characters
	if code, _, _ := qrCode(link, 80, 24); code == "" {
		t.Error("a short link does not fit a small terminal")
	}
	small, _, _ := qrCode("x", 80, 24)
	for line := range strings.Lines(small) {
		if !strings.HasPrefix(line, "\x1b[30;47m") || !strings.HasSuffix(line, "\x1b[0m\n") {
			t.Errorf("a line with the terminal's own colours: %q", line)
		}
	}
	if !strings.Contains(fmt.Sprint(code), "▀") {
		t.Error("nothing is drawn")
	}
}
