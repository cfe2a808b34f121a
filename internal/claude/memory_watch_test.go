package claude_test

import (
	"fmt"
	"io/fs"
	"sync/atomic"
	"testing"
	"time"

	"magpie/internal/claude"
	"magpie/internal/claude/workspace"
)

// machine has 16 GB of memory, of which 8 are free unless others use them, or 1 once tight is set.
type machine struct {
	others atomic.Int64 // kB that other programs use besides
	tight  atomic.Bool
	looks  atomic.Int64 // how often the memory was read
}

func (m *machine) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func (m *machine) ReadFile(name string) ([]byte, error) {
	if name != "proc/meminfo" {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	m.looks.Add(1)
	free := 8<<20 - m.others.Load()
	if m.tight.CompareAndSwap(true, false) {
		free = 1 << 20
	}
	return fmt.Appendf(nil, "MemTotal: %d kB\nMemAvailable: %d kB\n", 16<<20, free), nil
}

// Idle processes are kept until something else needs their memory. Then those without a chat end first, then the least
// recently used.
func TestIdleProcessesEndWhenTheirMemoryIsNeeded(t *testing.T) {
	m := &machine{}
	n := newSparesRig(t, func(c *claude.Config) { c.Machine, c.MemoryPeriod = m, 5*time.Millisecond })
	spec := n.ahead(n.data)
	a, b := n.firstProcess("a", spec), n.acquireFor("b", spec)
	n.pool.Release(a)
	n.pool.Release(b)
	n.hasSpares(1)
	for _, want := range []string{"2 idle, 1 spare", "2 idle, 0 spare", "1 idle, 0 spare", "0 idle, 0 spare"} {
		now := func() string { s := n.pool.Stats(); return fmt.Sprintf("%d idle, %d spare", s.Idle, s.Spare) }
		must(t, poll(t.Context(), want, func() bool { return now() == want }))
		if s := n.pool.Stats(); s.Idle+s.Spare == 0 {
			break // the memory is only watched while a process could end
		}
		looks := m.looks.Load()
		must(t, poll(t.Context(), "further looks at the memory", func() bool { return m.looks.Load() >= looks+10 }))
		if now() != want {
			t.Errorf("%s, want %s", now(), want)
		}
		m.tight.Store(true)
	}
}

// If there was memory for one process only when the program started, chats keep theirs once more is free.
func TestChatsKeepTheirProcessesOnceMemoryIsFree(t *testing.T) {
	m := &machine{}
	m.others.Store(6 << 20)
	r := scriptedRig(t, func(c *claude.Config) { c.Machine = m })
	if l := r.pool.Limits(); l.Processes != 2 || l.Turns != 2 {
		t.Fatalf("%+v at the start", l)
	}
	say := func(owners ...string) {
		for _, owner := range owners {
			if a := r.turn(t.Context(), owner, fresh(), "hello"); a.err != nil {
				t.Fatal(a.err)
			}
		}
	}
	say("a", "b")
	m.others.Add(400 << 10) // what these two use
	say("c")
	if s := r.pool.Stats(); s.Idle != 2 {
		t.Errorf("%+v with little memory", s)
	}
	m.others.Store(0)
	say("d", "e")
	if s := r.pool.Stats(); s.Idle != 4 {
		t.Errorf("%+v when memory has become free", s)
	}
	if l := r.pool.Limits(); l.Processes < 30 || l.Turns < 8 {
		t.Errorf("%+v", l)
	}
}

func TestKeepAliveIsReadAsItIsWritten(t *testing.T) {
	for text, want := range map[string]time.Duration{"auto": 2 * time.Hour, "0s": 0, "5m": 5 * time.Minute} {
		var c claude.Config
		err := c.KeepAlive.UnmarshalText([]byte(text))
		if got := claude.LimitsOf(c).Idle; err != nil || got != want || c.KeepAlive.String() != text {
			t.Errorf("%s: %v, %v, %v", text, got, c.KeepAlive, err)
		}
	}
	for _, text := range []string{"", "-1s", "5", "Auto", "forever"} {
		if err := new(workspace.KeepAlive).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
