package workspace_test

import (
	"strings"
	"testing"

	"magpie/internal/claude/claudetest"
	"magpie/internal/claude/workspace"
)

func TestWhatAskMayBe(t *testing.T) {
	t.Parallel()
	c := claudetest.ScriptedConfig(t)
	for ask, fine := range map[string]bool{
		"": true, "changes": true, "everything": true, "nothing": false, "Everything": false,
	} {
		if c.Ask = ask; (c.Validate() == nil) != fine {
			t.Errorf("%q: %v", ask, c.Validate())
		}
	}
	c.Ask, c.PermissionMode = "everything", "dontAsk"
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "[claude] ask") {
		t.Errorf("with dontAsk: %v", err)
	}
	if workspace.Defaults().Ask != "changes" {
		t.Errorf("by default %q", workspace.Defaults().Ask)
	}
}
