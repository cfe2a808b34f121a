package setup

import (
	"fmt"
	"strings"
	"testing"
)

func TestQRCodeFits(t *testing.T) {
	text := strings.Repeat("x", 458)
	code := qrCode(text, 80)
	if n := strings.Count(code, "\n"); n < 36 || n > 40 {
		t.Errorf("%d lines", n)
	}
	if qrCode(text, 60) != "" || qrCode("x", 0) != "" {
		t.Error("a code is drawn that does not fit")
	}
	for line := range strings.Lines(qrCode("x", 80)) {
		if !strings.HasPrefix(line, "\x1b[30;47m") || !strings.HasSuffix(line, "\x1b[0m\n") {
			t.Errorf("a line with the terminal's own colours: %q", line)
		}
	}
	if !strings.Contains(fmt.Sprint(code), "▀") {
		t.Error("nothing is drawn")
	}
}
