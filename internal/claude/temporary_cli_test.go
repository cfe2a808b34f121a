package claude_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
	"magpie/internal/claude/stream"
)

// Temporary files of the CLI for a chat, such as its own copy of a picture, lie in the chat's folder.
func TestTheCopyOfAPictureIsOfItsChatOnly(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		n := newTwoChats(t, command)
		picture, err := stream.NewImage(smallPicture(t))
		must(t, err)
		p := n.acquire("a", fresh())
		for ev, err := range p.Run(n.Context(), uuid.NewString(), "what is this?", picture) {
			must(t, err)
			if _, ok := ev.(claude.ToolAsk); ok {
				t.Fatal("no question is expected")
			}
		}
		n.pool.Release(p)
		for _, u := range n.tryTools("a", fresh(), map[string][]any{"Bash": commands("echo laid aside")}) {
			if asked := asksForAll(t, command); u.failed != asked || u.asked != asked {
				t.Errorf("%v", u)
			}
		}
		for _, path := range temporary(t) {
			if strings.Contains(path, projectName(n.cfg.Project)) {
				t.Errorf("%s is not in the folder of the chat", path)
			}
		}
	})
}

// temporary lists the CLI's usual temporary folders, by project.
func temporary(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(os.TempDir(), "claude-*", "*"))
	must(t, err)
	return list
}

// projectName is the last part of a folder's name as the CLI writes it.
func projectName(dir string) string {
	return strings.NewReplacer("/", "-", "_", "-").Replace(filepath.Base(filepath.Dir(filepath.Dir(dir))))
}
