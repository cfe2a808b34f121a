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

// reaches are the damages of its state that reach the CLI, or that it left in the backup from which the state is taken.
// Of the others it sees nothing: what it reads was written anew before.
var reaches = []string{"missing", "zeros", "other types", "a link to nothing", "a pipe"}

// Whatever happens to what lies beside the transcript in the folder of a chat's agents: the chat is answered. A state
// that the CLI cannot read is taken from its backup, and reported.
func TestADamagedFolderOfAChatKeepsNobodyFromAnAnswer(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) { answersBesideDamage(t, command, true) })
	t.Run("scripted", func(t *testing.T) { answersBesideDamage(t, claudetest.Scripted(t), false) })
}

func answersBesideDamage(t *testing.T, command string, cli bool) {
	var repaired []string
	var folders *claudetest.Folders
	r := newTwoChats(t, command, func(c *claude.Config) {
		folders = claudetest.OwnFolders(c, filepath.Join(filepath.Dir(c.Project), "data")) // a plain name
		c.ConfigDir, c.Settings = "isolated", `{"env":{"A":"b"}}`
		c.Repaired = func(damage error) { repaired = append(repaired, damage.Error()) }
	})
	r.folders = folders
	dir := r.folder("a")
	state := filepath.Join(dir, ".claude.json")
	of := map[string]string{
		"the CLI's state": state, "the temporary files": filepath.Join(dir, "tmp"),
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
	if !cli { // which the CLI writes itself
		write(t, state, `{"userID":"x"}`)
		write(t, filepath.Join(dir, "backups", ".claude.json.backup.1"), `{"userID":"x"}`)
	}
	before, err := os.ReadFile(state)
	must(t, err)
	user := bytes.Contains(before, []byte(`"userID"`))
	for what, path := range of {
		for name, damage := range damages {
			switch {
			case path != state && name != "words" && name != "a folder":
				continue
			case cli && (path != state || !slices.Contains(reaches, name)):
				continue
			}
			must(t, os.RemoveAll(path))
			damage(t, path)
			repaired = nil
			answers(what + ": " + name)
			switch {
			case name == "missing" || name == "other types" || name == "a link to nothing":
			case path == state:
				after, err := os.ReadFile(path)
				must(t, err)
				if len(repaired) != 1 || user && !bytes.Contains(after, []byte(`"userID"`)) {
					t.Errorf("%s: %s: reported %q, state %.300s", what, name, repaired, after)
				}
			case strings.HasSuffix(path, ".json"):
				if after, err := os.ReadFile(path); err != nil || !bytes.Contains(after, []byte(`"A":"b"`)) {
					t.Errorf("%s: %s: %.300s, %v", what, name, after, err)
				}
			}
		}
	}
}
