package workspace_test

import (
	"slices"
	"testing"

	"magpie/internal/claude/workspace"
)

func TestReadingTheServersOfTheConfiguration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]workspace.MCPServers{
		"all": {"all"}, "none": {"none"}, "": {}, "github, db": {"github", "db"},
	} {
		var got workspace.MCPServers
		if err := got.UnmarshalText([]byte(text)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	var got workspace.MCPServers
	if err := got.UnmarshalText([]byte("all,github")); err == nil {
		t.Error("all and a name are accepted together")
	}
}
