package workspace_test

import (
	"slices"
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

func TestModelsThatAChatMayChoose(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"sonnet": true, "claude-opus-4-8[1m]": true, "us.anthropic.claude-sonnet-5-v1:0": true, "arn:aws/x@2": true,
		"": false, "-p": false, "--dangerously-skip-permissions": false, "a b": false, "a\nb": false, "模型": false,
		"x[[1m]": false,
		"$(id)":  false, strings.Repeat("x", 200): false,
	} {
		if got := (workspace.Config{}).MayUse(name); got != want {
			t.Errorf("MayUse(%q) = %v", name, got)
		}
	}
	c := workspace.Config{Models: []string{"sonnet"}}
	if c.MayUse("opus") || !c.MayUse("sonnet") {
		t.Error("the list does not count")
	}
	bad := workspace.Defaults()
	bad.Model, bad.Models, bad.Effort = "--print", []string{"sonnet", "a b"}, "hard"
	if err := bad.Validate(); err == nil || strings.Count(err.Error(), "model") != 4 ||
		!strings.Contains(err.Error(), "effort") {
		t.Errorf("%v", err)
	}
}

func TestNamesOfModels(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"claude-opus-4-8": "Opus 4.8", "claude-opus-4-8[1m]": "Opus 4.8", "claude-sonnet-5": "Sonnet 5",
		"claude-haiku-4-5-20251001": "Haiku 4.5", "claude-opus-4-20250514": "Opus 4",
		"claude-3-5-haiku-20241022": "Haiku 3.5", "claude-3-opus-20240229": "Opus 3",
		"us.anthropic.claude-opus-4-8-v1:0[1m]": "Opus 4.8", "claude-sonnet-4-5@20250929": "Sonnet 4.5",
		"deepseek-chat": "deepseek-chat", "glm-5[1m]": "glm-5", "opus": "opus", "": "",
	} {
		if got := workspace.ModelName(id); got != want {
			t.Errorf("%q is displayed as %q, want %q", id, got, want)
		}
	}
}

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
