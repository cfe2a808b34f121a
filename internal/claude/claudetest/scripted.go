package claudetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"magpie/internal/claude"
)

// Scripted builds the scripted agent and returns its path. It starts in a few ms and answers at once, for tests of
// many turns; see the package scripted. The go command builds it, so it need not be installed.
func Scripted(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "scripted")
	build := exec.Command("go", "build", "-o", path, "magpie/internal/claude/claudetest/scripted")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // without a dynamic linker it starts in half the time
	out, err := build.CombinedOutput()
	if err != nil {
		t.Fatalf("build the scripted agent: %v\n%s", err, out)
	}
	return path
}

// ScriptedConfig is a configuration for the scripted agent with an empty project. It keeps transcripts.
func ScriptedConfig(t testing.TB) claude.Config {
	t.Helper()
	c := claude.Defaults()
	c.Command, c.Environ, c.Project = Scripted(t), Environ(t, ""), t.TempDir()
	c.Quiet = 100 * time.Millisecond
	c.Env = map[string]string{"MAGPIE_SCRIPTED_TRANSCRIPT": "1"}
	return c
}
