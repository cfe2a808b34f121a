package claude_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
	"magpie/internal/modelsim"
)

// With each of these settings the CLI does not start, and its last words say why. With others it does, which asks the
// model nothing.
func TestWhyTheCLIDoesNotStart(t *testing.T) { claudetest.Versions(t, whyTheCLIDoesNotStart) }

func whyTheCLIDoesNotStart(t *testing.T, command string) {
	sim, err := modelsim.Start(modelsim.Config{})
	must(t, err)
	t.Cleanup(func() { _ = sim.Close() })
	for name, tc := range map[string]struct {
		change func(t *testing.T, c *claude.Config)
		says   string // empty = it starts
	}{
		"defaults": {func(*testing.T, *claude.Config) {}, ""},
		"isolated": {func(_ *testing.T, c *claude.Config) { c.ConfigDir = "isolated" }, ""},
		"settings": {func(_ *testing.T, c *claude.Config) { c.Settings = `{"model": "sonnet"}` }, ""},
		"a mode that this CLI does not have": {func(_ *testing.T, c *claude.Config) { c.PermissionMode = "sometimes" },
			"argument 'sometimes' is invalid"},
		"a source of settings that it does not have": {
			func(_ *testing.T, c *claude.Config) { c.SettingSources = []string{"user", "friends"} },
			"Invalid setting source: friends"},
		"a mode that the system's administrator may not use": {func(t *testing.T, c *claude.Config) {
			if os.Geteuid() != 0 {
				t.Skip("it starts for everybody else")
			}
			c.PermissionMode = "bypassPermissions"
		}, "cannot be used with root/sudo privileges"},
		"a program around it that refuses on its error output": {func(t *testing.T, c *claude.Config) {
			script(t, "echo begins >&2; echo 'no licence on this machine' >&2; exit 3")(c)
		}, "exit status 3 (no licence on this machine)"},
		"one that refuses on its output, in mid-line": {func(t *testing.T, c *claude.Config) {
			script(t, "echo begins; printf 'wants a password'; exit 4")(c)
		}, "exit status 4 (wants a password)"},
		"one that ends in silence": {func(t *testing.T, c *claude.Config) { script(t, "exit 0")(c) },
			"it ended without an answer"},
		"a variable that kills it": {func(t *testing.T, c *claude.Config) {
			script(t, `[ "$COLOUR" != loud ] || { echo "COLOUR=loud is not allowed" >&2; exit 1; }; exec `+command+` "$@"`)(c)
			c.Env = map[string]string{"COLOUR": "loud"}
		}, "COLOUR=loud is not allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			c := claudetest.Config(t, sim.URL())
			c.Command = command
			claudetest.OwnFolders(&c, t.TempDir())
			tc.change(t, &c)
			err := claude.CheckStart(t.Context(), c, c.Project, c.PermissionMode, time.Hour)
			if tc.says == "" && err != nil || tc.says != "" && !strings.Contains(fmt.Sprint(err), tc.says) {
				t.Errorf("%v\nwant %q", err, tc.says)
			}
			if left, err := os.ReadDir(c.State); err == nil {
				t.Errorf("the chats' state has %v", left)
			}
		})
	}
	if n := len(sim.Requests()); n > 0 {
		t.Errorf("%d requests to the model", n)
	}
}
