package claude_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
	"magpie/internal/claude/workspace"
	"magpie/internal/modelsim"
)

// awake lets the agent start background tasks although nothing reads its output between turns.
func awake(c *claude.Config) {
	c.Env, c.BackgroundLimit.Duration = map[string]string{"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "0"}, 0
	c.AllowedTools = []string{"Bash(sleep *)", "Bash(cat *)"}
}

// wakeUp makes the agent of "a" start a background task, and returns when the task's end has woken the agent, which
// then takes the steps.
func (r *rig) wakeUp(spec claude.Spec, steps ...modelsim.Step) {
	r.Helper()
	woken := func(q *modelsim.Request) bool { return strings.Contains(q.AllText(), "<task-notification>") }
	command, end := r.gate()
	r.model.Script(
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{
			modelsim.Tool("Bash", map[string]any{"command": command, "description": "bg", "run_in_background": true}),
		}},
		modelsim.Rule{Times: 1, Match: woken, Steps: steps},
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("started it")}},
	)
	if a := r.turn(r.Context(), "a", spec, "go"); a.text() != "started it" {
		r.Fatalf("first turn: %q %v", a.text(), a.err)
	}
	end()
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	if err := r.model.Await(ctx,
		func(list []modelsim.Request) bool { return len(list) > 2 && woken(&list[2]) }); err != nil {
		r.Fatal(err)
	}
	must(r.T, poll(ctx, "it to be known", r.pool.Works)) // the CLI reports it before its request; the pool reads it later
}

// Whatever the agent does between two turns, the next turn gets its own answer and nothing else.
func TestAnAgentThatWakesUpDoesNotAffectTheNextTurn(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	for name, steps := range map[string][]modelsim.Step{
		"asks for permission": {modelsim.Tool("Bash", map[string]any{"command": "touch x", "description": "touch"})},
		"runs a tool":         {modelsim.Tool("Bash", map[string]any{"command": "sleep 15", "description": "sleep"})},
		"speaks":              {modelsim.Text("BACK"), modelsim.Hold(hold), modelsim.Text("GROUND")},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, awake)
			spec := fresh()
			r.wakeUp(spec, steps...)
			if a := r.turn(t.Context(), "a", resumed(spec), "数到 3"); a.err != nil || a.text() != "1 2 3" {
				t.Errorf("the next turn: %q %v", a.text(), a.err)
			}
		})
	}
}

// The agent is not offered tools that would speak between turns. A model that calls them anyway gets an error.
func TestBackgroundTasksAreOff(t *testing.T) {
	r := newRig(t, func(c *claude.Config) { c.AllowedTools, c.BackgroundLimit.Duration = []string{"Bash"}, 0 })
	r.model.Script(
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{
			modelsim.Tool("Bash", map[string]any{"command": "true", "description": "bg", "run_in_background": true}),
		}},
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("done")}},
	)
	if a := r.turn(t.Context(), "a", fresh(), "go"); a.text() != "done" {
		t.Fatalf("%q %v", a.text(), a.err)
	}
	reqs := r.model.Requests()
	if !strings.Contains(reqs[1].AllText(), "unexpected parameter `run_in_background`") {
		t.Error("the background task was started")
	}
}

// script replaces the CLI with a shell script, for behaviour that the real one cannot be made to show.
func script(t *testing.T, body string) func(*claude.Config) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "claude")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o700); err != nil { //nolint:gosec // it is executed
		t.Fatal(err)
	}
	return func(c *claude.Config) {
		c.Command, c.Grace = path, 0
		c.Silence.Duration, c.ToolSilence.Duration, c.TurnLimit.Duration = time.Second, time.Second, 3*time.Second
	}
}

// A CLI that misbehaves in any way is ended; no turn waits forever.
func TestATurnEndsWithAnyCLI(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"hangs at its start": "exec sleep 300",
		"closes its input":   "exec 0<&-; exec sleep 300",
		"closes its output":  "exec 1>&-; exec sleep 300",
		"obeys nothing and talks on": "trap '' INT TERM\nyes '{\"type\":\"noise\"}' | head -n 50000\n" +
			"while :; do echo '{\"type\":\"noise\"}'; sleep 0.1; done",
		"talks nonsense and goes":     "head -c 100000 /dev/urandom",
		"goes at once":                "exit 3",
		"says half a line and hangs":  "printf '{\"type\":\"res'; exec sleep 300",
		"leaves its output to others": "sleep 300 & exit 0",
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, script(t, body))
			a := r.turn(t.Context(), "a", fresh(), strings.Repeat("字", 100_000)) // more than a pipe holds
			if a.err == nil {
				t.Error("the turn succeeded")
			}
		})
	}
}

func TestTheErrorOutputOfADeadCLIIsKept(t *testing.T) {
	r := newRig(t, script(t, "echo 'no license today' >&2; exit 3"), func(c *claude.Config) {
		c.Silence.Duration, c.TurnLimit.Duration = time.Minute, time.Minute
	})
	a := r.turn(t.Context(), "a", fresh(), "hi")
	var exit *claude.ExitError
	if !errors.As(a.err, &exit) || exit.Stderr != "no license today" ||
		!strings.Contains(a.err.Error(), "exit status 3") {
		t.Errorf("err = %v", a.err)
	}
}

func pidIn(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}

// The system may kill the CLI during a tool, whose processes then get no signal from it.
func TestAKilledCLILeavesNoTool(t *testing.T) {
	r := newRig(t, func(c *claude.Config) { c.AllowedTools = []string{"Bash"} })
	mark := filepath.Join(t.TempDir(), "pid")
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{
		modelsim.Tool("Bash", map[string]any{"command": "echo $$ > " + mark + "; sleep 300", "description": "sleep"}),
	}})
	p := r.acquire("a", fresh())
	go func() {
		_ = waitFile(t.Context(), mark)
		_ = syscall.Kill(p.Pid(), syscall.SIGKILL)
	}()
	var err error
	for _, err = range p.Run(t.Context(), uuid.NewString(), "go") {
		if err != nil {
			break
		}
	}
	var exit *claude.ExitError
	if !errors.As(err, &exit) {
		t.Errorf("err = %v", err)
	}
	r.pool.Release(p)
	if err := waitGone(t.Context(), pidIn(t, mark)); err != nil {
		t.Error(err)
	}
}

func TestProcessesStartedAfterTheStopEnd(t *testing.T) {
	dir := t.TempDir()
	r := newRig(t, script(t, `trap '' INT TERM
while read -r line; do case $line in *'"interrupt"'*) break ;; esac; done
setsid sh -c 'echo $$ > `+dir+`/pid; exec sleep 300' &
while :; do sleep 0.1; done`), func(c *claude.Config) { c.Grace = 10 * time.Second })
	r.turn(t.Context(), "a", fresh(), "hi")
	if err := waitGone(t.Context(), pidIn(t, dir+"/pid")); err != nil {
		t.Error(err)
	}
}

func TestNeverTwoProcessesOnOneSession(t *testing.T) {
	r := newRig(t, scripted(t))
	spec := fresh()
	r.turn(t.Context(), "a", spec, "我叫小明")
	old := r.acquire("a", resumed(spec))
	r.pool.Release(old)
	dropped := make(chan struct{})
	go func() {
		defer close(dropped)
		<-r.pool.Drop("a")
	}()
	if err := poll(t.Context(), "the process leaving",
		func() bool { return !r.pool.HasIdle("a", spec.Session) }); err != nil {
		t.Fatal(err)
	}
	next := r.acquire("a", resumed(spec))
	if running(old) {
		t.Error("two processes hold one session")
	}
	r.pool.Release(next)
	<-dropped
}

func TestARelativeCommandStartsInTheProject(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	script := []byte("#!/bin/sh\ncat >/dev/null\n")
	if err := os.WriteFile("fake", script, 0o700); err != nil { //nolint:gosec // it is executed
		t.Fatal(err)
	}
	c := workspace.Defaults()
	c.Command, c.Project = "./fake", "."
	c, err := c.Resolve()
	if err != nil || c.Command != filepath.Join(dir, "fake") || c.Project != dir {
		t.Fatalf("%s %s %v", c.Command, c.Project, err)
	}
	pool := claude.NewPool(c)
	defer pool.Close()
	p, err := pool.Acquire(t.Context(), "a", withDir(fresh(), t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	pool.Release(p)
}

// An agent that ignores signals does not delay the end of the program: its grace period is short. With the usual one,
// an hour here, this test would not end.
func TestAnAgentThatIgnoresSignalsDoesNotDelayTheEnd(t *testing.T) {
	c := workspace.Defaults()
	c.Command, c.Environ, c.Grace = filepath.Join(t.TempDir(), "deaf"), claudetest.Environ(t, ""), time.Hour
	if err := os.WriteFile(c.Command, []byte("#!/bin/sh\ntrap '' INT TERM\nwhile :; do sleep 1; done\n"),
		0o700); err != nil {
		t.Fatal(err)
	}
	pool := claude.NewPool(c)
	defer pool.Close()
	p, err := pool.Acquire(t.Context(), "a", claude.Spec{Session: uuid.NewString(), Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Release(p)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var last error
	for _, err := range p.Run(ctx, uuid.NewString(), "hello") {
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("ended with %v", last)
	}
}
