package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Who has no Node.js needs more than the CLI's own command for installing it.
func TestAMissingCLIIsToldWithTheNodeItNeeds(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	for _, c := range []struct {
		there string // what is installed before
		node  bool   // whether Node.js is asked for
	}{{"", true}, {"npm", true}, {"node", false}} {
		if c.there != "" {
			if err := os.WriteFile(filepath.Join(dir, c.there), nil, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		said := MissingCLI(errors.New("nothing")).Error()
		if !strings.Contains(said, "npm install -g @anthropic-ai/claude-code") ||
			strings.Contains(said, "install Node.js 22 or later") != c.node {
			t.Errorf("after %q: %s", c.there, said)
		}
	}
}

// On Windows a command interpreter would execute the title of a chat.
func TestABatchFileIsRefused(t *testing.T) {
	for _, c := range []struct {
		system, path string
		refused      bool
	}{
		{"windows", `C:\npm\claude.cmd`, true},
		{"windows", `C:\npm\CLAUDE.BAT`, true},
		{"windows", `C:\bin\claude.exe`, false},
		{"linux", "/usr/bin/claude.cmd", false},
	} {
		if err := refuseBatchFile(c.system, c.path); (err != nil) != c.refused {
			t.Errorf("%s on %s: %v", c.path, c.system, err)
		}
	}
}

func TestCountsAreReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]AutoCount{"auto": Auto, "1": 1, "64": 64} {
		var n AutoCount
		if err := n.UnmarshalText([]byte(text)); err != nil || n != want || n.String() != text {
			t.Errorf("%s: %v, %v", text, n, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "four", "1.5", "Auto"} {
		if err := new(AutoCount).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
