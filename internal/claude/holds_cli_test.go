package claude_test

import (
	"os"
	"path/filepath"
	"testing"

	"magpie/internal/claude"
)

// A configuration that was replaced is visible to the processes that run: the next turn gets a new one.
func TestAReplacedConfigurationIsHiddenFromTheNextTurn(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "magpie.toml")
	write(t, conf, canary)
	r := newRig(t, scripted(t), func(c *claude.Config) { c.Wall, c.Private = "require", []string{conf} })
	spec := withDir(fresh(), r.cfg.Project)
	next := func() int {
		t.Helper()
		a := r.turn(t.Context(), "a", spec, "hello")
		must(t, a.err)
		spec.Resume = true
		p, err := r.pool.Acquire(t.Context(), "a", spec)
		must(t, err)
		r.pool.Release(p)
		return p.Pid()
	}
	first := next()
	must(t, os.WriteFile(conf, []byte(canary+"!"), 0o600))
	if next() != first {
		t.Error("a new process although the same file was only changed")
	}
	write(t, conf+".new", canary)
	must(t, os.Rename(conf+".new", conf))
	if next() == first {
		t.Error("the process still runs, and sees the new configuration")
	}
}
