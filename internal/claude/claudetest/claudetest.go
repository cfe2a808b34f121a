// Package claudetest lets tests run the real Claude Code CLI with a model on the loopback interface, independent of the
// machine's own login and settings.
//
// The double of the model is modelsim. The package holds no expectations about the bridge.
package claudetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"magpie/internal/claude/workspace"
)

// Command is the pinned CLI that scripts/test installs: the current version.
func Command(t testing.TB) string { return command(t, "MAGPIE_TEST_CLAUDE") }

// Oldest is the oldest supported version of the CLI, which scripts/test installs too.
func Oldest(t testing.TB) string { return command(t, "MAGPIE_TEST_CLAUDE_OLDEST", "oldest") }

// Versions runs a test with each version of the CLI that scripts/test installs, in parallel with other tests.
func Versions(t *testing.T, test func(t *testing.T, command string)) {
	t.Helper()
	t.Parallel()
	t.Run("today", func(t *testing.T) { test(t, Command(t)) })
	t.Run("oldest", func(t *testing.T) { test(t, Oldest(t)) })
}

// command is the CLI that a variable names, or the one that npm has installed below scripts/cli and folder.
func command(t testing.TB, variable string, folder ...string) string {
	t.Helper()
	if path := os.Getenv(variable); path != "" {
		return path
	}
	// GOMOD finds the module's root from any package; without a module it is empty, which the check below reports.
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		t.Fatal(err)
	}
	arch := runtime.GOARCH
	if arch == "amd64" {
		arch = "x64"
	}
	path := filepath.Join(filepath.Dir(string(mod)), "scripts", "cli", filepath.Join(folder...), "node_modules",
		"@anthropic-ai",
		fmt.Sprintf("claude-code-%s-%s", runtime.GOOS, arch), "claude")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the Claude Code CLI is not installed: ./scripts/test installs it (%v)", err)
	}
	return path
}

// Environ is an environment for a CLI with its model at url. It contains nothing of the machine's login.
func Environ(t testing.TB, url string) []string {
	t.Helper()
	home := t.TempDir()
	return []string{
		"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "HOME=" + home, "CLAUDE_CONFIG_DIR=" +
			filepath.Join(home, "claude"),
		"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=sk-test-dummy",
	}
}

// Config is a configuration for the real CLI with a model at url and an empty project.
func Config(t testing.TB, url string) workspace.Config {
	t.Helper()
	c := workspace.Defaults()
	c.Command, c.Environ, c.Project = Command(t), Environ(t, url), t.TempDir()
	// A busy machine takes a minute for a start.
	c.Silence.Duration, c.TaskLimit.Duration = 10*time.Minute, 10*time.Minute
	c.Quiet, c.Spare = 100*time.Millisecond, 0
	c.Suggestions = false // they are requests to the model, which most tests count
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	return c
}

// Folders are the folders of the agents of each chat.
type Folders struct {
	state string

	mu  sync.Mutex
	ids map[string]string // by owner
}

// OwnFolders makes data the program's data folder, in which the agents of each chat have their own folder.
func OwnFolders(c *workspace.Config, data string) *Folders {
	f := &Folders{state: filepath.Join(data, "agents"), ids: map[string]string{}}
	c.Data, c.State = data, f.state
	c.Folder = func(owner string) (string, error) { return f.bind(owner, uuid.NewString()), nil }
	return f
}

// Path is the folder of owner's agents, which it creates if necessary.
func (f *Folders) Path(owner string) string {
	return filepath.Join(f.state, f.bind(owner, uuid.NewString()))
}

// Bind assigns a folder to owner's agents. It returns false if owner has another one.
func (f *Folders) Bind(owner, id string) bool { return f.bind(owner, id) == id }

func (f *Folders) bind(owner, id string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ids[owner] == "" {
		f.ids[owner] = id
	}
	return f.ids[owner]
}
