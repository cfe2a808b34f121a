package claude_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
)

// What the CLI keeps of a session that nobody uses is deleted with the messages of its time: the transcript holds them,
// too.
func TestOldSessionsAreDeleted(t *testing.T) {
	t.Parallel()
	c := claude.Config{Environ: []string{"HOME=" + t.TempDir()}}
	folders := claudetest.OwnFolders(&c, t.TempDir())
	limit := time.Now().Add(-time.Hour)
	ended, used, recent, outside := uuid.NewString(), uuid.NewString(), uuid.NewString(), t.TempDir()
	put := func(age time.Duration, parts ...string) string {
		path := filepath.Join(parts...)
		write(t, path, "x")
		for dir := path; dir != filepath.Dir(parts[0]); dir = filepath.Dir(dir) {
			must(t, os.Chtimes(dir, time.Time{}, limit.Add(-age)))
		}
		return path
	}
	var gone, kept []string
	for _, chat := range []string{folders.Path("a"), folders.Path("b")} {
		for session, list := range map[string]*[]string{ended: &gone, used: &kept, recent: &kept} {
			age := time.Minute
			if session == recent {
				age = -age
			}
			*list = append(*list,
				put(age, chat, "projects", "-p", session+".jsonl"),
				put(age, chat, "projects", "-p", session, "subagents", "agent-1.jsonl"),
				put(age, chat, "file-history", session, "x@v1"), put(age, chat, "session-env", session, "env"),
				put(age, chat, "tasks", session, "1.json"), put(age, chat, "todos", session+"-agent-1.json"),
			)
		}
		gone = append(gone, filepath.Join(chat, "projects", "-p", ended))
		kept = append(kept,
			put(time.Minute, chat, "projects", "-p", "memory", "notes.md"), put(time.Minute, chat, "settings.json"),
			put(time.Minute, chat, "projects", "-p", ended+".txt"), put(time.Minute, chat, "projects", ended+".jsonl"),
		)
	}
	foreign := put(time.Minute, outside, ended+".jsonl")
	must(t, os.Symlink(outside, filepath.Join(folders.Path("a"), "projects", "link")))
	n, err := claude.SweepSessions(t.Context(), claude.NewPool(c), limit, func(session string) bool { return session == used })
	if err != nil || n != 12 {
		t.Errorf("%d files deleted, %v", n, err)
	}
	for _, path := range gone {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", path, err)
		}
	}
	for _, path := range append(kept, foreign) {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
}
