package bridge

import (
	"strings"
	"testing"

	"magpie/internal/claude"
	"magpie/internal/i18n"
)

// /status names the MCP servers that the last turn of the project could not use, or did not wait for, and no others.
func TestStatusNamesBrokenServers(t *testing.T) {
	t.Parallel()
	l := newRig(t, func(c *claude.Config) {
		c.Env["MAGPIE_SCRIPTED_SERVERS"] = "github=failed slow=pending database=connected mail=needs-auth"
	})
	l.start()
	if got := l.ordered("om_1", "/status"); strings.Contains(got, "MCP") {
		t.Errorf("before any turn: %q", got)
	}
	l.say("om_2", "请回答")
	l.settled(1)
	want := i18n.StatusServers.Sprintf(i18n.Chinese, "`github` `mail`")
	want += "\n" + i18n.StatusServersLate.Sprintf(i18n.Chinese, "`slow`")
	if got := l.ordered("om_3", "/status"); !strings.Contains(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	dir := realPath(l.config.Project)
	l.runner().servers.note(dir, []claude.MCPServer{{Name: "github", Status: "connected"}})
	if got := l.ordered("om_4", "/status"); strings.Contains(got, "MCP") {
		t.Errorf("when all have started: %q", got)
	}
}
