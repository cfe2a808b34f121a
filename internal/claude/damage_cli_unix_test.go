//go:build unix

package claude_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
)

// damages are ways in which a file can be damaged.
var damages = map[string]func(t *testing.T, path string){
	"missing": func(*testing.T, string) {},
	"empty":   func(t *testing.T, path string) { write(t, path, "") },
	"zeros":   func(t *testing.T, path string) { write(t, path, strings.Repeat("\x00", 300)) },
	"words":   func(t *testing.T, path string) { write(t, path, "no JSON") },
	"a list":  func(t *testing.T, path string) { write(t, path, `["x"]`) },
	"other types": func(t *testing.T, path string) {
		write(t, path, `{"projects":7,"mcpServers":[],"env":3,"migrationVersion":"x","numStartups":{},"oauthAccount":3}`)
	},
	"a folder":            func(t *testing.T, path string) { write(t, filepath.Join(path, "x", "y"), "") },
	"a link to nothing":   func(t *testing.T, path string) { must(t, os.Symlink("/nonexistent/x", path)) },
	"a link to itself":    func(t *testing.T, path string) { must(t, os.Symlink(path, path)) },
	"a pipe":              func(t *testing.T, path string) { must(t, syscall.Mkfifo(path, 0o600)) },
	"the beginning of it": func(t *testing.T, path string) { write(t, path, `{"numStartups": 1, "proj`) },
}

// Whatever happens to what lies beside the transcript in the folder of a chat's agents: the chat is answered. A state
// that the CLI cannot read is taken from its backup, and reported.
func TestADamagedFolderOfAChatKeepsNobodyFromAnAnswer(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		var repaired []string
		r := newTwoChats(t, command, func(c *claude.Config) {
			c.ConfigDir, c.Settings = "isolated", `{"env":{"A":"b"}}`
			c.Repaired = func(damage error) { repaired = append(repaired, damage.Error()) }
		})
		dir := r.folder("a")
		of := map[string]string{
			"the CLI's state": filepath.Join(dir, ".claude.json"), "the temporary files": filepath.Join(dir, "tmp"),
			"the settings of the chat": filepath.Join(filepath.Dir(dir), "settings", filepath.Base(dir)+".json"),
			"the settings of all":      filepath.Join(filepath.Dir(dir), "settings.json"),
		}
		spec := fresh()
		answers := func(what string) {
			t.Helper()
			if a := r.turn(t.Context(), "a", spec, "数到 3"); a.err != nil || a.text() != "1 2 3" {
				t.Errorf("%s: %q, %v", what, a.text(), a.err)
			}
			<-r.pool.Drop("a")
			spec.Resume = true
		}
		answers("a new folder")
		state, err := os.ReadFile(of["the CLI's state"])
		must(t, err)
		user := bytes.Contains(state, []byte(`"userID"`))
		for what, path := range of {
			for name, damage := range damages {
				switch {
				case what != "the CLI's state" && name != "words" && name != "a folder":
					continue
				// The pool looks at the files, whichever version it starts: with the oldest a few show that it can be started.
				case command == claudetest.Oldest(t) && !slices.Contains([]string{"zeros", "other types", "a pipe"}, name):
					continue
				}
				must(t, os.RemoveAll(path))
				damage(t, path)
				repaired = nil
				answers(what + ": " + name)
				if strings.HasPrefix(what, "the CLI's") && (name == "zeros" || name == "a pipe") {
					state, err := os.ReadFile(path)
					must(t, err)
					if len(repaired) != 1 || user && !bytes.Contains(state, []byte(`"userID"`)) {
						t.Errorf("%s: %s: reported %q, state %.300s", what, name, repaired, state)
					}
				}
			}
		}
	})
}
