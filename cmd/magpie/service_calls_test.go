package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"magpie/internal/door/terminal"
	"magpie/internal/i18n"
)

// Whoever types a command is told what to correct, in his language, or else where to read what went wrong.
func TestACommandIsToldWhyNot(t *testing.T) {
	r := newChatRig(t)
	c, err := terminal.Dial(t.Context(), filepath.Join(filepath.Dir(r.config), terminalFolder), terminal.Main)
	must(t, err)
	for _, tc := range []struct {
		in   any
		lang i18n.Lang
		want string
	}{
		{map[string]string{"Name": "nobody"}, i18n.Chinese, "没有叫 nobody 的令牌"}, {map[string]string{"Name": "nobody"}, i18n.English, "no token named nobody"},
		{"no token", i18n.Chinese, "原因见它的日志"}, {"no token", i18n.English, "its log says why"},
	} {
		var got serviceAnswer[tokenAnswer]
		if err := c.Call(t.Context(), http.MethodPost, "commands/tokens/revoke", serviceCall[any]{tc.in, tc.lang}, &got); err != nil || !strings.Contains(got.Problem, tc.want) {
			t.Errorf("%v: %+v, %v", tc.in, got, err)
		}
	}
}
