package claude_test

import (
	"os"
	"path/filepath"
	"testing"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
)

// The file with the operator's settings lies where agents keep their state. Whatever it says, a start may only fail.
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
		must(t, os.WriteFile(filepath.Join(c.State, "settings.json"), []byte(text), 0o600))
		pool := claude.NewPool(c)
		if p, err := pool.Acquire(t.Context(), "a", claude.Spec{Session: fresh().Session, Dir: c.Project}); err == nil {
			t.Errorf("%s: it starts", text)
			pool.Release("a", p)
		}
		pool.Close()
	}
}
