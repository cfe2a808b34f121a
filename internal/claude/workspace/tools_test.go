package workspace

import (
	"slices"
	"strings"
	"testing"
)

// Arguments, which any user of the machine can read, contain no token. No proxy is used.
func TestToolsOfAProcess(t *testing.T) {
	tools := Tools{
		Server: "magpie", URL: "http://127.0.0.1:7/", Token: "s3cret", Names: []string{"remember", "search_memory"},
	}
	args := tools.arguments()
	want := []string{
		`--mcp-config={"mcpServers":{"magpie":{"alwaysLoad":true,` +
			`"headers":{"Authorization":"Bearer ${MAGPIE_TOOLS_TOKEN}"},"type":"http","url":"http://127.0.0.1:7/"}}}`,
		"--allowedTools=mcp__magpie__remember", "--allowedTools=mcp__magpie__search_memory",
	}
	if !slices.Equal(args, want) {
		t.Errorf("arguments %q", args)
	}
	for _, tc := range []struct{ have, want []string }{
		{nil, []string{"NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1"}},
		{[]string{"no_proxy=a.example,b.example"}, []string{"no_proxy=a.example,b.example,127.0.0.1"}},
		{[]string{"NO_PROXY=", "no_proxy=a.example"}, []string{"NO_PROXY=127.0.0.1", "no_proxy=a.example,127.0.0.1"}},
	} {
		have := slices.Clone(tc.have)
		env := tools.environ(tc.have)
		if !slices.Contains(env, "MAGPIE_TOOLS_TOKEN=s3cret") {
			t.Errorf("no token in %q", env)
		}
		env = slices.DeleteFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "MAGPIE") })
		if !slices.Equal(env, tc.want) || !slices.Equal(tc.have, have) {
			t.Errorf("%q becomes %q", tc.have, env)
		}
	}
	if none := (Tools{}); none.arguments() != nil || len(none.environ([]string{"A=b"})) != 1 {
		t.Error("without tools the arguments or the environment differ")
	}
}
