package workspace_test

import (
	"slices"
	"testing"

	"magpie/internal/claude/workspace"
)

func TestRulesWithoutAPath(t *testing.T) {
	c := workspace.Config{
		AllowedTools: []string{
			"Read", "Read(./**)", "Edit(*)", "Write(//**)", "Bash", "Bash(*)", "Bash(:*)", "Bash(git status)",
			"Read(~/docs/**)", "WebFetch", "mcp__x__y",
		},
		Settings: `{"permissions":{"allow":["Grep","Glob(src/**)"]}}`,
	}
	want := []string{"Read", "Edit(*)", "Write(//**)", "Bash", "Bash(*)", "Bash(:*)", "Grep"}
	if got := c.BareRules(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
