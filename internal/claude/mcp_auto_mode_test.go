package claude_test

import (
	"path/filepath"
	"strings"
	"testing"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
)

// Where a model decides about permissions it cannot approve a server.
func TestAutoModeApprovesNoServers(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		n := newTwoChats(t, command, func(c *claude.Config) {
			c.PermissionMode, c.AllowedTools, c.KeepAlive.Duration = "auto", []string{"Write"}, 0
		})
		spec := fresh()
		spec.Mode = "auto"
		var writes []any
		for _, name := range []string{".mcp.json", ".claude/settings.local.json", ".Claude/Settings.local.json", "free.txt"} {
			writes = append(writes, map[string]string{"file_path": filepath.Join(n.cfg.Project, name), "content": "{}"})
		}
		for i, u := range n.tryTools("a", spec, map[string][]any{"Write": writes}) {
			if free := i == len(writes)-1; u.failed == free || !free &&
				!strings.Contains(u.result, "permission settings") {
				t.Errorf("asked %v, failed %v: %v", u.asked, u.failed, u)
			}
		}
	})
}
