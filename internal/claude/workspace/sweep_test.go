package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"magpie/internal/claude/claudetest"
	"magpie/internal/claude/workspace"
)

// Nobody else deletes what the CLI lays aside for a chat: without this, each picture that somebody sends stays forever.
func TestOldTemporaryFilesAreDeleted(t *testing.T) {
	c := workspace.Config{Environ: []string{"HOME=" + t.TempDir()}}
	folders := claudetest.OwnFolders(&c, t.TempDir())
	if n, err := workspace.SweepTemporary(t.Context(), c, time.Now()); n != 0 || err != nil { // before the first agent
		t.Errorf("without any chat: %d, %v", n, err)
	}
	a, b, elsewhere := folders.Path("a"), folders.Path("b"), t.TempDir()
	limit := time.Now().Add(-time.Hour)
	put := func(path string, age time.Duration) string {
		t.Helper()
		write(t, path, "x")
		must(t, os.Chtimes(path, time.Time{}, limit.Add(-age)))
		return path
	}
	deep := filepath.Join(a, "tmp", strings.Repeat("d/", 40), "old")
	gone := []string{
		put(filepath.Join(a, "tmp", "claude-0", "-p", "s1", "images", "1.png"), time.Minute),
		put(filepath.Join(a, "tmp", "old"), time.Minute), put(filepath.Join(b, "tmp", "old"), time.Minute),
		filepath.Join(a, "tmp", "claude-0", "-p", "s1", "images"), filepath.Join(a, "tmp", "link"),
		filepath.Join(a, "tmp", "folder-link"),
	}
	kept := []string{
		put(filepath.Join(a, "tmp", "claude-0", "-p", "s2", "images", "1.png"), -time.Minute),
		put(filepath.Join(a, "projects", "-p", "s1.jsonl"), time.Minute), put(filepath.Join(a, "old"), time.Minute),
		put(filepath.Join(elsewhere, "inner", "old"), time.Minute),
		put(filepath.Join(c.State, "settings", "tmp", "old"), time.Minute), put(deep, time.Minute),
	}
	must(t, os.Symlink(filepath.Join(elsewhere, "inner", "old"), filepath.Join(a, "tmp", "link")))
	must(t, os.Symlink(elsewhere, filepath.Join(a, "tmp", "folder-link")))
	must(t, os.Symlink(filepath.Join(elsewhere, "inner"), filepath.Join(folders.Path("c")+"x")))
	must(t, os.MkdirAll(folders.Path("c"), 0o700))
	must(t, os.Symlink(elsewhere, filepath.Join(folders.Path("c"), "tmp")))
	must(t, os.Chtimes(filepath.Join(a, "tmp", "claude-0", "-p", "s1", "images"), time.Time{}, limit.Add(-time.Minute)))
	if n, err := workspace.SweepTemporary(t.Context(), c, limit); n != 3 || err == nil { // the link in place of a folder
		t.Errorf("%d files, %v", n, err)
	}
	future := time.Now().Add(time.Hour) // links have no time of their own here
	must(t, os.Remove(filepath.Join(folders.Path("c"), "tmp")))
	kept, young := kept[1:], kept[0]
	if n, err := workspace.SweepTemporary(t.Context(), c, future); n != 3 || err != nil {
		t.Errorf("%d files, %v", n, err)
	}
	for _, path := range append(gone, young) {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
	for _, path := range kept {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}
