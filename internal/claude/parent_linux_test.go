package claude_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"magpie/internal/claude"
	"magpie/internal/claude/workspace"
)

// An agent that another program may take over from dies with its program, behind the wall, too, whatever it is doing.
func TestAnAgentDiesWithItsProgram(t *testing.T) {
	t.Parallel()
	for _, mode := range []workspace.WallMode{"off", "auto"} {
		t.Run(string(mode), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pid")
			r := newRig(t, script(t, "trap '' INT TERM HUP PIPE\necho $$ >"+file+".new && mv "+file+".new "+file+
				"\nwhile :; do sleep 0.1; done"), func(c *claude.Config) { c.Wall, c.DieWithParent = mode, true })
			r.cfg.Silence.Duration, r.cfg.TurnLimit.Duration = patience, patience
			p := r.program(job{Spec: withDir(fresh(), r.cfg.Project), Prompt: uuid.NewString()})
			must(t, poll(t.Context(), "the agent", func() bool {
				_, err := os.Stat(file)
				return err == nil
			}))
			data, err := os.ReadFile(file)
			must(t, err)
			pid := strings.TrimSpace(string(data))
			if !there(pid) {
				t.Error("the agent does not run")
			}
			must(t, p.Process.Kill())
			_ = p.Wait()
			must(t, poll(t.Context(), "the end of the agent", func() bool { return !there(pid) }))
		})
	}
}
