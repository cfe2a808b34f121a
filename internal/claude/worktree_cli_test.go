package claude_test

import (
	"os"
	"path/filepath"
	"testing"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
)

// The CLI moves to a worktree of its own making, and back, without a question: it does not offer that.
func TestTheAgentMakesNoWorktreesUnasked(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		n := newTwoChats(t, command, func(c *claude.Config) { works(t, c, command) })
		for _, u := range n.tryTools("a", fresh(), map[string][]any{
			"EnterWorktree": {map[string]string{"name": "x"}}, "ExitWorktree": {map[string]string{"action": "keep"}},
		}) {
			if !u.unknown() {
				t.Errorf("asked %v: %v", u.asked, u)
			}
		}
		if _, err := os.Stat(filepath.Join(n.cfg.Project, ".claude", "worktrees")); err == nil {
			t.Error("there is a worktree")
		}
	})
}
