package claude_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
)

// Sessions from before each chat had a folder are moved there with all their files, from both places where they may
// lie. Files of no chat stay. The move may be interrupted at any point and repeated.
func TestSessionsAreMovedIntoTheFolderOfTheirChat(t *testing.T) {
	home, data := t.TempDir(), t.TempDir()
	c := claude.Config{Environ: []string{"HOME=" + home}}
	folder := claudetest.OwnFolders(&c, data).Path
	first, second, foreign := uuid.NewString(), uuid.NewString(), uuid.NewString()
	machine := filepath.Join(home, ".claude")
	sum := sha256.Sum256([]byte("a"))
	earlier := filepath.Join(c.State, "chats", hex.EncodeToString(sum[:12]))
	write(t, filepath.Join(earlier, "projects", "-w", second+".jsonl"), "second")
	for _, name := range []string{
		"projects/-w/" + first + ".jsonl", "projects/-w/" + first + "/tool-results/x.txt", "projects/-v/" + first +
			".jsonl", "file-history/" + first + "/y",
		"todos/" + first + "-agent-1.json", "tasks/" + first + "/1.json", "projects/-w/" + foreign + ".jsonl",
	} {
		write(t, filepath.Join(machine, name), name)
	}
	sessions := []string{first, second, "../../x", "*", uuid.NewString()}
	// An earlier attempt was interrupted: this file was copied completely, the next one partly.
	write(t, filepath.Join(earlier, "projects", "-w", first+".jsonl.new"), "fir")
	for range 2 {
		must(t, c.MoveSessions("a", sessions))
	}
	var there []string
	must(t, filepath.WalkDir(folder("a"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasSuffix(path, ".new") {
			name, _ := filepath.Rel(folder("a"), path)
			text, _ := os.ReadFile(path)
			if string(text) != name && name != "projects/-w/"+second+".jsonl" {
				t.Errorf("%s holds %q", name, text)
			}
			there = append(there, name)
		}
		return err
	}))
	if len(there) != 7 {
		t.Errorf("in the chat's folder: %q", there)
	}
	if _, err := os.Stat(filepath.Join(machine, "projects", "-w", foreign+".jsonl")); err != nil {
		t.Errorf("a session of another chat was moved: %v", err)
	}
	for _, gone := range []string{filepath.Join(machine, "projects", "-w", first+".jsonl"), earlier} {
		if _, err := os.Stat(gone); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", gone, err)
		}
	}
	// A file under its old name is complete, whatever exists under the new one.
	write(t, filepath.Join(machine, "projects", "-w", first+".jsonl"), "whole")
	must(t, os.WriteFile(filepath.Join(folder("a"), "projects", "-w", first+".jsonl"), []byte("wh"), 0o600))
	must(t, c.MoveSessions("a", sessions))
	if text, err := os.ReadFile(filepath.Join(folder("a"), "projects", "-w", first+".jsonl")); string(text) != "whole" {
		t.Errorf("%q, %v", text, err)
	}
}

// A folder on another disk is copied completely before the original is removed.
func TestSessionsAreMovedToAnotherDisk(t *testing.T) {
	other, err := os.MkdirTemp("/dev/shm", "magpie-move-")
	if err != nil {
		t.Skip("there is no other disk: ", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(other) })
	home := t.TempDir()
	c := claude.Config{Environ: []string{"HOME=" + home}}
	folder := claudetest.OwnFolders(&c, other).Path
	id := uuid.NewString()
	write(t, filepath.Join(home, ".claude", "projects", "-w", id+".jsonl"), "text")
	write(t, filepath.Join(home, ".claude", "projects", "-w", id, "subagents", "x.jsonl"), "inner")
	write(t, filepath.Join(folder("a"), "projects", "-w", id+".jsonl.new"), "te") // of an interrupted attempt
	must(t, c.MoveSessions("a", []string{id}))
	for name, want := range map[string]string{id + ".jsonl": "text", id + "/subagents/x.jsonl": "inner"} {
		if text, err := os.ReadFile(filepath.Join(folder("a"), "projects", "-w", name)); string(text) != want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(home, ".claude", "projects", "-w", "*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}
