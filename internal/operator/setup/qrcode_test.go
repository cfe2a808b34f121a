package setup

import (
	"fmt"
	"strings"
	"testing"
)

// longestLink is the length of the address of a registration, which has the app's permissions and events in it: see
// TestRegisterMakesACompleteApp of the package feishu.
const longestLink = 458

func TestQRCodeFits(t *testing.T) {
	text := strings.Repeat("x", longestLink)
	code, wide, high := qrCode(text, 80, 40)
	if n := strings.Count(code, "\n"); n < 36 || n != high || wide < 70 || wide > 80 {
		t.Errorf("%d lines, %d by %d", n, wide, high)
	}
	for _, small := range [][2]int{{wide - 1, high}, {wide, high - 1}, {0, 0}} {
		if code, w, h := qrCode(text, small[0], small[1]); code != "" || w != wide || h != high {
			t.Errorf("%v: a code that does not fit is drawn, or %d by %d are required", small, w, h)
		}
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

// A browser is only opened where somebody would see it.
func TestBrowser(t *testing.T) {
	t.Parallel()
	const address = "https://open.feishu.cn/page/cli?from=sdk&user_code=ABCD-EFGH"
	for name, tc := range map[string]struct {
		system string
		env    map[string]string
		want   string
	}{
		"X11":                {"linux", map[string]string{"DISPLAY": ":0"}, "xdg-open"},
		"Wayland":            {"linux", map[string]string{"WAYLAND_DISPLAY": "wayland-0"}, "xdg-open"},
		"no display":         {"linux", nil, ""},
		"forwarded X11":      {"linux", map[string]string{"DISPLAY": "localhost:10.0", "SSH_CONNECTION": "1"}, "xdg-open"},
		"macOS":              {"darwin", nil, "open"},
		"macOS over SSH":     {"darwin", map[string]string{"SSH_CONNECTION": "1"}, ""},
		"Windows":            {"windows", nil, "rundll32"},
		"Windows over SSH":   {"windows", map[string]string{"SSH_CONNECTION": "1"}, ""},
		"FreeBSD with X11":   {"freebsd", map[string]string{"DISPLAY": ":0"}, "xdg-open"},
		"macOS with XQuartz": {"darwin", map[string]string{"DISPLAY": ":0"}, "open"},
	} {
		args := browser(tc.system, func(name string) string { return tc.env[name] }, address)
		switch {
		case tc.want == "" && args == nil:
		case len(args) < 2 || args[0] != tc.want || args[len(args)-1] != address:
			t.Errorf("%s: %q", name, args)
		}
	}
}
