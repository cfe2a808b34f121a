package claude_test

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"magpie/internal/claude"
	"magpie/internal/modelsim"
)

func (r *rig) acquire(owner string, spec claude.Spec) *claude.Process {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	p, err := r.pool.Acquire(ctx, owner, withDir(spec, r.cfg.Project))
	if err != nil {
		r.Fatal(err)
	}
	return p
}

func running(p *claude.Process) bool {
	_, err := os.Stat("/proc/" + strconv.Itoa(p.Pid()))
	return err == nil
}

func TestAnIdleProcessMakesRoom(t *testing.T) {
	r := newRig(t, scripted(t), func(c *claude.Config) { c.MaxProcesses = 2 })
	a, b := fresh(), fresh()
	r.turn(t.Context(), "a", a, "hello")
	r.turn(t.Context(), "b", b, "hello")
	pa, pb := r.acquire("a", a), r.acquire("b", b)
	r.pool.Release(pa)
	r.pool.Release(pb)
	pc := r.acquire("c", fresh())
	if running(pa) || !running(pb) {
		t.Error("the process that waited longest should have made room, and only that")
	}
	r.pool.Release(pc)
	if r.pool.HasIdle("a", a.Session) || !r.pool.HasIdle("b", b.Session) {
		t.Error("the pool does not report which process ended")
	}
}

func TestTurnsWaitInOrder(t *testing.T) {
	r := newRig(t, scripted(t), func(c *claude.Config) { c.MaxProcesses = 1 })
	first := r.acquire("first", fresh())
	served := make(chan string)
	for i, owner := range []string{"second", "third", "fourth"} {
		go func() {
			p, err := r.pool.Acquire(t.Context(), owner, withDir(fresh(), r.cfg.Project))
			if err != nil {
				served <- err.Error()
				return
			}
			served <- owner
			r.pool.Release(p)
		}()
		if err := poll(t.Context(), owner+" in the queue",
			func() bool { return r.pool.Stats().Waiting == i+1 }); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case who := <-served:
		t.Fatalf("%s did not wait", who)
	default:
	}
	r.pool.Release(first)
	var got []string
	for range 3 {
		got = append(got, <-served)
	}
	if want := "second third fourth"; strings.Join(got, " ") != want {
		t.Errorf("served %v, want %s", got, want)
	}
	if running(first) {
		t.Error("more than one process exists")
	}
}

func TestWaitingForASlotEndsWithTheContext(t *testing.T) {
	r := newRig(t, scripted(t), func(c *claude.Config) { c.MaxProcesses = 1 })
	p := r.acquire("a", fresh())
	defer r.pool.Release(p)
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	go func() {
		_ = poll(t.Context(), "waiting", func() bool { return r.pool.Stats().Waiting == 1 })
		cancel(stopped)
	}()
	if _, err := r.pool.Acquire(ctx, "b", withDir(fresh(), r.cfg.Project)); !errors.Is(err, stopped) {
		t.Errorf("err = %v", err)
	}
}

func TestAFailedStartReleasesItsSlot(t *testing.T) {
	r := newRig(t, scripted(t), func(c *claude.Config) { c.MaxProcesses = 1 })
	for range 3 {
		if _, err := r.pool.Acquire(t.Context(), "a", withDir(resumed(fresh()), r.cfg.Project)); err == nil {
			t.Fatal("a session that does not exist was resumed")
		}
		if _, err := r.pool.Acquire(t.Context(), "a", withDir(fresh(), "/does/not/exist")); err == nil {
			t.Fatal("a folder that does not exist was entered")
		}
	}
	r.pool.Release(r.acquire("a", fresh()))
}

func TestAnIdleProcessExpires(t *testing.T) {
	r := newRig(t, scripted(t), func(c *claude.Config) { c.KeepAlive.Duration = 300 * time.Millisecond })
	p := r.acquire("a", fresh())
	r.pool.Release(p)
	if err := waitGone(t.Context(), strconv.Itoa(p.Pid())); err != nil {
		t.Error(err)
	}
}

func TestCloseLeavesNoProcess(t *testing.T) {
	r := newRig(t, scripted(t))
	a, b := r.acquire("a", fresh()), r.acquire("b", fresh())
	r.pool.Release(a)
	r.pool.Release(b)
	r.pool.Close()
	if running(a) || running(b) {
		t.Error("a process outlived the pool")
	}
	if _, err := r.pool.Acquire(t.Context(), "a", withDir(fresh(), r.cfg.Project)); !errors.Is(err, claude.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// A suspended pool has no process, and starts none: neither for a turn nor ahead. Who waits goes on when it may.
func TestASuspendedPoolHasNoProcess(t *testing.T) {
	r := newRig(t, scripted(t))
	a := fresh()
	r.turn(t.Context(), "a", a, "hello")
	working := r.acquire("b", fresh())
	rest, cut := make(chan struct{}), make(chan error, 1)
	defer close(rest)
	r.model.Script(modelsim.Rule{Name: "work", Steps: []modelsim.Step{modelsim.Hold(rest)}})
	go func() {
		var last error
		for _, err := range working.Run(t.Context(), uuid.NewString(), "work") {
			last = err
		}
		cut <- last
	}()
	r.pool.Suspend(t.Context())
	if err := <-cut; !errors.Is(err, claude.ErrSuspended) {
		t.Errorf("a turn that was cut off: %v", err)
	}
	if s := r.pool.Stats(); running(working) || s.Idle+s.Spare != 0 {
		t.Errorf("suspended: a process is running: %v, %+v", running(working), s)
	}
	r.pool.Release(working)
	started := r.pool.Stats().Started
	if err := r.pool.StartAhead(t.Context(), "c", withDir(fresh(), r.cfg.Project)); err != nil && !errors.Is(err, claude.ErrNoRoom) {
		t.Errorf("started ahead: %v", err)
	}
	served := make(chan *claude.Process)
	go func() { served <- r.acquire("a", withDir(a, r.cfg.Project)) }()
	for wait := 0; r.pool.Stats().Waiting+r.pool.Stats().Running == 0 && wait < 1000; wait++ {
		time.Sleep(5 * time.Millisecond)
	}
	if n := r.pool.Stats().Started; n != started {
		t.Errorf("%d processes were started meanwhile", n-started)
	}
	r.pool.Resume()
	p := <-served
	if !running(p) {
		t.Error("the turn that waited has no process")
	}
	r.pool.Release(p)
}

// A CLI that ignores signals is killed, idle or during a turn, together with the processes it started.
func TestCloseIsBounded(t *testing.T) {
	dir := t.TempDir()
	stubborn := script(t, "trap '' INT TERM\nsetsid sh -c 'echo $$ >> "+dir+
		"/pids; exec sleep 300' &\nwhile :; do sleep 0.1; done")
	r := newRig(t, stubborn, func(c *claude.Config) {
		c.Silence.Duration, c.TurnLimit.Duration = time.Minute, time.Minute
	})
	a, b := r.acquire("a", fresh()), r.acquire("b", fresh())
	r.pool.Release(a)
	cut := make(chan error, 1)
	go func() {
		for _, err := range b.Run(t.Context(), uuid.NewString(), "go on") {
			if err != nil {
				cut <- err
			}
		}
		r.pool.Release(b)
	}()
	if err := poll(t.Context(), "two tools", func() bool {
		data, _ := os.ReadFile(dir + "/pids")
		return strings.Count(string(data), "\n") == 2
	}); err != nil {
		t.Fatal(err)
	}
	r.pool.Close()
	if running(a) || running(b) {
		t.Error("a process outlived the pool")
	}
	var exit *claude.ExitError
	if err := <-cut; !errors.As(err, &exit) {
		t.Errorf("the turn ended with %v", err)
	}
	data, err := os.ReadFile(dir + "/pids")
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range strings.Fields(string(data)) {
		if err := waitGone(t.Context(), pid); err != nil {
			t.Error(err)
		}
	}
}

func TestStatsCountWhatThereIs(t *testing.T) {
	r := newRig(t, script(t, "cat >/dev/null"), func(c *claude.Config) { c.MaxProcesses = 2 })
	expect := func(when string, want claude.PoolStats) {
		t.Helper()
		if got := r.pool.Stats(); got != want {
			t.Errorf("%s: %+v, want %+v", when, got, want)
		}
	}
	expect("at first", claude.PoolStats{})
	a, b := r.acquire("a", fresh()), r.acquire("b", fresh())
	expect("two turns", claude.PoolStats{Running: 2, Started: 2})
	third := make(chan *claude.Process)
	go func() { third <- r.acquire("c", fresh()) }()
	if err := poll(t.Context(), "one waiting", func() bool { return r.pool.Stats().Waiting == 1 }); err != nil {
		t.Fatal(err)
	}
	r.pool.Release(a)
	c := <-third
	expect("the third has taken the place", claude.PoolStats{Running: 2, Started: 3})
	r.pool.Release(b)
	r.pool.Release(c)
	expect("after the turns", claude.PoolStats{Idle: 2, Started: 3})
	r.pool.Close()
	expect("at the end", claude.PoolStats{Started: 3})
}

func TestTheChildGetsNoSecrets(t *testing.T) {
	r := newRig(t, func(c *claude.Config) {
		c.Environ = append(c.Environ, "MAGPIE_FEISHU_APP_SECRET=canary", "MAGPIE_MEMORY_EMBEDDINGS_KEY=canary",
			"AWS_SECRET_ACCESS_KEY=canary", "DATABASE_URL=canary", "LC_ALL=C.UTF-8")
		c.Env = map[string]string{"EXTRA": "yes"}
	})
	p := r.acquire("a", fresh())
	defer r.pool.Release(p)
	var env string
	must(t, poll(t.Context(), "its environment", func() bool { // empty between fork and exec
		data, err := os.ReadFile("/proc/" + strconv.Itoa(p.Pid()) + "/environ")
		env = strings.ReplaceAll(string(data), "\x00", "\n")
		return err != nil || env != ""
	}))
	if strings.Contains(env, "canary") {
		t.Error("a secret reached the CLI")
	}
	for _, want := range []string{
		"LC_ALL=C.UTF-8", "EXTRA=yes", "CLAUDE_CODE_DISABLE_FILE_MENTIONS=1",
		"CLAUDE_CODE_DISABLE_AUTO_MEMORY=1", "ANTHROPIC_API_KEY=sk-test-dummy",
	} {
		if !strings.Contains(env, want) {
			t.Errorf("%s is missing", want)
		}
	}
}

func TestConfigSaysWhatIsWrong(t *testing.T) {
	c := claude.Config{
		Command: "no-such-claude", PermissionMode: "yolo", MaxTurns: -1, MaxProcesses: -1,
	}
	err := c.Validate()
	for _, key := range []string{
		"command", "permission_mode", "max_turns", "max_processes", "silence_timeout", "tool_timeout",
		"turn_timeout",
	} {
		if err == nil || !strings.Contains(err.Error(), "[claude] "+key) {
			t.Errorf("%v does not name %s", err, key)
		}
	}
}
