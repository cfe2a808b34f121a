//go:build unix

package claude_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
)

// oddFiles are files that never end when they are read as usual. Agents can put them where this program reads.
func oddFiles(t *testing.T, put func(t *testing.T, odd func(path string))) {
	t.Helper()
	for name, make := range map[string]func(path string) error{
		"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"device": func(path string) error { return os.Symlink("/dev/zero", path) },
	} {
		t.Run(name, func(t *testing.T) {
			put(t, func(path string) {
				t.Helper()
				must(t, os.MkdirAll(filepath.Dir(path), 0o700))
				must(t, make(path))
			})
		})
	}
}

// A chat's agent may replace its transcript. The recovery reads all transcripts before the program answers anybody.
func TestTranscriptsThatAreNoFiles(t *testing.T) {
	oddFiles(t, func(t *testing.T, odd func(path string)) {
		c := claude.Config{Environ: []string{"HOME=" + t.TempDir()}}
		claudetest.OwnFolders(&c, t.TempDir())
		dir, session, prompt := t.TempDir(), uuid.NewString(), uuid.NewString()
		of := c.Transcripts("a")
		path, err := of.Path(dir, session)
		must(t, err)
		odd(path)
		var lost *claude.LostError
		if _, err := of.Verify(dir, session, []string{prompt}); !errors.As(err, &lost) ||
			lost.Cause != claude.LostCorrupt {
			t.Errorf("verified: %v", err)
		}
		if got, err := of.ReadOutcome(dir, session, prompt); err == nil {
			t.Errorf("the outcome: %+v", got)
		}
		if got, err := of.ReadUnasked(dir, session); err == nil {
			t.Errorf("what was not asked for: %+v", got)
		}
		if _, err := of.Talk(session); !errors.Is(err, claude.ErrNoTranscript) {
			t.Errorf("the conversation: %v", err)
		}
	})
}

// Each of these files is read when a process starts. A start that does not end holds the slots of all chats.
func TestProcessesStartBesideOddFiles(t *testing.T) {
	oddFiles(t, func(t *testing.T, odd func(path string)) {
		cfg := claudetest.ScriptedConfig(t)
		folder := claudetest.OwnFolders(&cfg, t.TempDir()).Path("a")
		machine := t.TempDir()
		cfg.Env["CLAUDE_CONFIG_DIR"], cfg.Settings = machine, `{"model":"opus"}`
		write(t, filepath.Join(machine, ".claude.json"), `{"mcpServers":{"x":{"command":"x"}}}`)
		must(t, cfg.Prepare())
		for _, path := range []string{
			filepath.Join(cfg.Project, ".mcp.json"), filepath.Join(cfg.Project, ".claude", "settings.local.json"),
			filepath.Join(machine, "settings.json"), filepath.Join(folder, "mcp.json"),
			filepath.Join(folder, "mcp.json.new"), filepath.Join(folder, ".claude.json"),
			filepath.Join(folder, ".claude.json.new"),
		} {
			odd(path)
		}
		pool := claude.NewPool(cfg)
		t.Cleanup(pool.Close)
		r := &rig{T: t, cfg: cfg, pool: pool}
		p := r.acquire("a", fresh())
		if _, a := r.ask(p, nil); a.err != nil || a.text() != "echo: go on" {
			t.Errorf("%q %v", a.text(), a.err)
		}
		pool.Release(p)
		for _, name := range []string{"mcp.json", ".claude.json"} {
			if info, err := os.Lstat(filepath.Join(folder, name)); err != nil || !info.Mode().IsRegular() {
				t.Errorf("%s: %v, %v", name, info, err)
			}
		}
		if _, err := pool.Config().ServerNames(cfg.Project); err == nil {
			t.Error("nobody learns that the project's file cannot be read")
		}
	})
}
