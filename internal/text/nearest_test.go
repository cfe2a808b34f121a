package text

import "testing"

func TestDistance(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"stop", "stop", 0}, {"stpo", "stop", 1}, {"kitten", "sitting", 3},
		{"恢复", "恢夏", 1},
	} {
		if got := distance(tc.a, tc.b); got != tc.want {
			t.Errorf("distance(%q, %q) = %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}

func TestNearest(t *testing.T) {
	words := []string{"feishu.app_id", "claude.keep_alive", "log.level", "setup"}
	for mistyped, want := range map[string]string{
		"feishu.app_idd": "feishu.app_id", "claude.keepalive": "claude.keep_alive", "LOG.LEVLE": "log.level",
		"claude.ke": "claude.keep_alive", "budget": "", "": "", "stop": "", "stup": "setup", "steup": "setup",
	} {
		if got, ok := Nearest(mistyped, words); got != want || ok != (want != "") {
			t.Errorf("Nearest(%q) = %q, want %q", mistyped, got, want)
		}
	}
}
