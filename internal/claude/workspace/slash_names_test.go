package workspace_test

import (
	"strings"
	"testing"

	"magpie/internal/claude/workspace"
)

func TestCommandsThatAreNotForChats(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"config", "Config", "permissions", "login", "logout", "/greet", "", "two words", "a\nb",
	} {
		c := workspace.Defaults()
		c.Commands = []string{"review", "team:deploy", name}
		if err := c.Validate(); err == nil || strings.Count(err.Error(), "slash_commands") != 1 {
			t.Errorf("%q: %v", name, err)
		}
	}
}
