package claudetest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"magpie/internal/claude/workspace"
)

// Scripted builds the scripted agent and returns its path. It starts in a few ms and answers at once, for tests of many
// turns; see the package scripted. The go command builds it, so it need not be installed.
func Scripted(t testing.TB) string {
	t.Helper()
	program, err := link()
	if err != nil {
		t.Fatal(err)
	}
	// Another process writes the file: while this process had it open for writing, a child of another test could
	// inherit it, and running the file would fail.
	path := filepath.Join(t.TempDir(), "scripted")
	write := exec.Command("cp", "/dev/stdin", path)
	write.Stdin = bytes.NewReader(program)
	if out, err := write.CombinedOutput(); err != nil {
		t.Fatalf("write the scripted agent: %v\n%s", err, out)
	}
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// link builds the scripted agent once for all tests of a package: linking it takes longer than most of them. Unlike "go
// build", "go run" keeps what it links: the tests of other packages get the same one, by cp.
var link = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "magpie-scripted-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a leftover temporary folder does no harm
	path := filepath.Join(dir, "scripted")
	build := exec.Command("go", "run", "-exec", "cp", "magpie/internal/claude/claudetest/scripted", path)
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // without a dynamic linker it starts in half the time
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the scripted agent: %w\n%s", err, out)
	}
	return os.ReadFile(path)
})

// ScriptedConfig is a configuration for the scripted agent with an empty project. It keeps transcripts.
func ScriptedConfig(t testing.TB) workspace.Config {
	t.Helper()
	c := workspace.Defaults()
	c.Command, c.Environ, c.Project = Scripted(t), Environ(t, ""), t.TempDir()
	c.Quiet, c.Spare, c.Suggestions = 100*time.Millisecond, 0, false
	c.Env = map[string]string{"MAGPIE_SCRIPTED_TRANSCRIPT": "1"}
	return c
}

// ModelConfig is a configuration for the scripted agent with a model at url and an empty project. It starts a hundred
// times as fast as the CLI; the package scripted lists what it lacks.
func ModelConfig(t testing.TB, url string) workspace.Config {
	t.Helper()
	c := ScriptedConfig(t)
	c.Environ, c.Env = Environ(t, url), nil
	return c
}
