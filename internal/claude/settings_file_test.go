package claude_test

import (
	"os"
	"path/filepath"
	"testing"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
)

// The file with the operator's settings lies where agents keep their state. Whatever it says, a process starts only with
// what it is to say.
func TestStartsWithSpoiledSettings(t *testing.T) {
	for _, text := range []string{
		"null", "", "[]", `"x"`, "{", `{"permissions":null}`, `{"permissions":[]}`, `{"permissions":{"deny":null}}`,
		`{"permissions":{"deny":[1]}}`, `{"permissions":{"deny":"x"}}`, `{"permissions":{"deny":[],"deny":{}}}`,
	} {
		c := claude.Config{
			Command: os.Args[0], Project: t.TempDir(), Environ: []string{"HOME=" + t.TempDir()}, Settings: "{}",
		}
		claudetest.OwnFolders(&c, t.TempDir())
		must(t, c.Prepare())
		path := filepath.Join(c.State, "settings.json")
		want, err := os.ReadFile(path)
		must(t, err)
		must(t, os.WriteFile(path, []byte(text), 0o600))
		pool := claude.NewPool(c)
		if p, err := pool.Acquire(t.Context(), "a", claude.Spec{Session: fresh().Session, Dir: c.Project}); err == nil {
			if got, err := os.ReadFile(path); err != nil || string(got) != string(want) {
				t.Errorf("%s: it starts with %s (%v)", text, got, err)
			}
			pool.Release(p)
		}
		pool.Close()
	}
}
