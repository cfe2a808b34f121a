package claude_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
	"magpie/internal/claude/workspace"
)

// fullMachine has that much memory, of which other programs take a quarter and each process 235 MB, the most that was
// measured.
type fullMachine struct {
	total     int64 // bytes
	processes atomic.Int64
}

func (m *fullMachine) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func (m *fullMachine) ReadFile(name string) ([]byte, error) {
	if name != "proc/meminfo" {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	free := m.total - m.total/4 - m.processes.Load()*235<<20
	return fmt.Appendf(nil, "MemTotal: %d kB\nMemAvailable: %d kB\n", m.total>>10, max(0, free)>>10), nil
}

// Thirty chats take turns. With 16 GB nearly all of them find their process idle. With 4 GB not all processes fit, and
// the reserve stays free.
func TestThirtyChatsFindTheirProcesses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		total    int64
		turns    int
		met      float64 // least share of the turns
		together int     // most processes at a time
	}{{16 << 30, 900, 0.95, 31}, {4 << 30, 90, 0.1, 12}} {
		t.Run(fmt.Sprintf("%d GB", tc.total>>30), func(t *testing.T) {
			m := &fullMachine{total: tc.total}
			n := newTwoChats(t, claudetest.Scripted(t), func(c *claude.Config) {
				c.Machine, c.MaxProcesses, c.KeepAlive = m, workspace.Auto, workspace.AutoKeepAlive
				c.Environ = claudetest.Environ(t, "")
			})
			const chats = 30
			specs := map[string]claude.Spec{}
			rng, most, before := rand.New(rand.NewPCG(1, 2)), 0, n.pool.Stats().Started
			for range tc.turns {
				owner := fmt.Sprint("chat", rng.IntN(chats))
				spec, known := specs[owner]
				if !known {
					spec = n.ahead(n.data)
					specs[owner] = spec
				}
				p := n.acquireFor(owner, spec)
				n.pool.Release(p)
				s := n.pool.Stats()
				m.processes.Store(int64(s.Running + s.Idle + s.Spare))
				most = max(most, s.Running+s.Idle+s.Spare)
			}
			met := 1 - float64(n.pool.Stats().Started-before)/float64(tc.turns)
			// scripts/bench prints it
			t.Logf("%d GB: %.1f %% of the turns met their process, %d processes at most", tc.total>>30, 100*met, most)
			if met < tc.met || most > tc.together {
				t.Errorf("want %.0f %% and %d", 100*tc.met, tc.together)
			}
		})
	}
}
