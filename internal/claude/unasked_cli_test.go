package claude_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
	"magpie/internal/modelsim"
)

// watched records what a watcher was notified of.
type watched struct {
	woken chan struct{}
	ended chan claude.UnaskedEnd
}

func (w watched) watcher() claude.Watcher {
	return claude.Watcher{
		Woken: func() { w.woken <- struct{}{} }, Ended: func(why claude.UnaskedEnd) { w.ended <- why },
	}
}

// gate is a command that runs until open is called: reading a named pipe, which is allowed in the project.
func (r *rig) gate() (command string, open func()) {
	r.Helper()
	path := filepath.Join(r.cfg.Project, "gate")
	must(r.T, syscall.Mkfifo(path, 0o600))
	return "cat " + path, func() {
		r.Helper()
		must(r.T, poll(r.Context(), "the command's read", func() bool {
			f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0) // fails until somebody reads
			return err == nil && f.Close() == nil
		}))
	}
}

// inBackground makes the agent of "a" start a background command and watches the result. The steps are what the agent
// does when it is notified of the end.
func (r *rig) inBackground(spec claude.Spec, command string, steps ...modelsim.Step) watched {
	r.Helper()
	told := func(q *modelsim.Request) bool {
		return strings.Contains(q.Messages[len(q.Messages)-1].Text, "<task-notification>")
	}
	r.model.Script(
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Tool("Bash",
			map[string]any{"command": command, "description": "wait", "run_in_background": true})}},
		modelsim.Rule{Times: 1, Match: told, Steps: steps},
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("started it")}},
	)
	w := watched{make(chan struct{}, 9), make(chan claude.UnaskedEnd, 9)}
	spec.Dir, spec.Mode = r.cfg.Project, "default"
	p, err := r.pool.Acquire(r.Context(), "a", spec)
	must(r.T, err)
	p.Unasked().Watch(w.watcher())
	r.pool.Release(p)
	if a := r.turn(r.Context(), "a", spec, "go"); a.err != nil || a.text() != "started it" {
		r.Fatalf("the turn that starts it: %q %v", a.text(), a.err)
	}
	return w
}

// follow reads the turn that the agent of "a" has started by itself.
func (r *rig) follow() (a answer) {
	r.Helper()
	p, err := r.pool.AcquireWoken(r.Context(), "a")
	if err != nil || p == nil {
		r.Fatalf("no process to read: %v", err)
	}
	defer r.pool.Release(p)
	for ev, err := range p.Follow(r.Context()) {
		if a.err = err; err != nil {
			break
		}
		a.take(ev)
		if q, ok := ev.(claude.ToolAsk); ok {
			r.answer(p, q)
		}
	}
	return a
}

func unaskedRig(t *testing.T, change ...func(*claude.Config)) *rig {
	t.Helper()
	return newRig(t, append([]func(*claude.Config){func(c *claude.Config) {
		c.AllowedTools, c.BackgroundLimit.Duration = []string{"Bash(sleep *)", "Bash(cat *)"}, 5*time.Minute
	}}, change...)...)
}

// The end of a background command starts a turn of its own, which can ask people. A message that arrives while the
// command runs is answered at once, by the same process.
func TestACommandInTheBackground(t *testing.T) {
	r := unaskedRig(t)
	r.decide = func(claude.ToolAsk) claude.Decision { return claude.Decision{Why: "not now"} }
	spec := fresh()
	command, end := r.gate()
	w := r.inBackground(spec, command, modelsim.Text("it is done. "),
		modelsim.Tool("Bash", map[string]any{"command": "touch x", "description": "touch"}))
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("you said no")},
		Match: func(q *modelsim.Request) bool {
			return strings.Contains(q.Messages[len(q.Messages)-1].Text, "not now")
		}})
	if got := r.pool.UnaskedState("a"); got != claude.Working {
		t.Errorf("after its turn it is %q", got)
	}
	before := r.pool.Stats().Started
	a := r.turn(t.Context(), "a", resumed(spec), "数到 3")
	if a.err != nil || a.text() != "1 2 3" || r.pool.Stats().Started != before {
		t.Errorf("meanwhile: %q %v", a.text(), a.err)
	}
	end()
	await(t, "the agent's own turn", w.woken)
	if got := r.pool.UnaskedState("a"); got != claude.Woken {
		t.Errorf("once it has started it is %q", got)
	}
	a = r.follow()
	if a.err != nil || a.text() != "it is done. |you said no" || a.result.Failure != "" || a.result.CostUSD <= 0 {
		t.Errorf("the turn of its own: %q %v %+v", a.text(), a.err, a.result)
	}
	if got := r.pool.UnaskedState("a"); got != claude.Resting {
		t.Errorf("afterwards it is %q", got)
	}
	if a := r.turn(t.Context(), "a", resumed(spec), "数到 2"); a.err != nil || a.text() != "1 2" ||
		r.pool.Stats().Started != before {
		t.Errorf("the next turn: %q %v", a.text(), a.err)
	}
}

// twoInBackground has the agent start two background commands that end at once when end is called.
func (r *rig) twoInBackground(spec claude.Spec) (w watched, end func()) {
	r.Helper()
	gate := filepath.Join(r.TempDir(), "gate")
	wait := modelsim.Tool("Bash", map[string]any{"description": "wait", "run_in_background": true,
		"command": "until [ -e " + gate + " ]; do sleep 0.05; done"})
	p, err := r.pool.Acquire(r.Context(), "a", spec)
	must(r.T, err)
	w = watched{make(chan struct{}, 9), make(chan claude.UnaskedEnd, 9)}
	p.Unasked().Watch(w.watcher())
	r.pool.Release(p)
	r.model.Script(
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{wait, wait}},
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("started both")}},
	)
	if a := r.turn(r.Context(), "a", spec, "go"); a.text() != "started both" {
		r.Fatalf("%q %v", a.text(), a.err)
	}
	return w, func() { must(r.T, os.WriteFile(gate, nil, 0o600)) }
}

// The agent tells about two background commands that end at once in one turn, whose answer is complete.
func TestTwoCommandsEndAtOnce(t *testing.T) {
	r := unaskedRig(t, func(c *claude.Config) { c.AllowedTools = []string{"Bash"} })
	w, end := r.twoInBackground(withDir(fresh(), r.cfg.Project))
	r.model.Script(modelsim.Rule{Steps: []modelsim.Step{modelsim.Text("it is done")}})
	end()
	for r.pool.UnaskedState("a") != claude.Resting { // they may just not have ended at once
		await(t, "the agent's own turn", w.woken)
		if a := r.follow(); a.err != nil || a.text() != "it is done" {
			t.Errorf("it tells %q %v", a.text(), a.err)
		}
	}
}

// A question that arrives just then is asked after that turn.
func TestAQuestionAsTwoCommandsEnd(t *testing.T) {
	r := unaskedRig(t, func(c *claude.Config) { c.AllowedTools = []string{"Bash"} })
	spec := withDir(fresh(), r.cfg.Project)
	w, end := r.twoInBackground(spec)
	r.model.Script(
		modelsim.Rule{Steps: []modelsim.Step{modelsim.Text("1 2 3")}, Match: func(q *modelsim.Request) bool {
			return strings.Contains(q.Messages[len(q.Messages)-1].Text, "数到 3")
		}},
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("it is "), modelsim.Tool("Bash",
			map[string]any{"command": "sleep 1", "description": "look"})}},
		modelsim.Rule{Steps: []modelsim.Step{modelsim.Text("done")}},
	)
	end()
	await(t, "the agent's own turn", w.woken)
	if a := r.turn(t.Context(), "a", resumed(spec), "数到 3"); a.err != nil || a.text() != "it is |done|1 2 3" {
		t.Errorf("%q %v", a.text(), a.err)
	}
}

// If the agent has started two turns before anybody reads the first one, for example on a busy machine, both are read.
func TestTwoTurnsOfTheAgentsOwn(t *testing.T) {
	r := unaskedRig(t, scripted(t), func(c *claude.Config) { c.AllowedTools = []string{"Bash"} })
	gate := filepath.Join(r.TempDir(), "gate")
	until := func(file string) string { return "until [ -e " + file + " ]; do sleep 0.05; done" }
	spec := fresh()
	w := r.inBackground(spec, until(gate), modelsim.Text("the second one"))
	r.model.Script( // before the rules so far
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Tool("Bash",
			map[string]any{"command": until(gate + "2"), "description": "wait", "run_in_background": true})}},
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("started another")}},
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("the first one")}},
	)
	if a := r.turn(t.Context(), "a", resumed(spec), "go on"); a.text() != "started another" {
		t.Fatalf("%q %v", a.text(), a.err)
	}
	must(t, os.WriteFile(gate, nil, 0o600))
	await(t, "the agent's own turn", w.woken)
	must(t, os.WriteFile(gate+"2", nil, 0o600))
	must(t, poll(t.Context(), "the second turn", func() bool { return len(r.model.Requests()) == 6 }))
	for _, want := range []string{"the first one", "the second one"} {
		// The model may have been asked before the line that says so was read.
		must(t, poll(t.Context(), want, func() bool { return r.pool.UnaskedState("a") == claude.Woken }))
		if a := r.follow(); a.err != nil || a.text() != want {
			t.Errorf("it tells %q %v, want %q", a.text(), a.err, want)
		}
	}
}

// A question that arrives just when the agent has started a turn by itself is asked after it, and nothing is lost.
func TestAQuestionDuringTheAgentsOwnTurn(t *testing.T) {
	r := unaskedRig(t)
	spec := fresh()
	command, end := r.gate()
	w := r.inBackground(spec, command,
		modelsim.Text("it is "), modelsim.Wait(300*time.Millisecond), modelsim.Text("done"))
	end()
	await(t, "the agent's own turn", w.woken)
	if a := r.turn(t.Context(), "a", resumed(spec), "数到 3"); a.err != nil || a.text() != "it is done|1 2 3" {
		t.Errorf("%q %v", a.text(), a.err)
	}
}

// A background command ends with its process, and the watcher gets the reason.
func TestABackgroundCommandEndsWithItsProcess(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		end  func(r *rig)
		want claude.UnaskedEnd
	}{
		"stopped":     {func(r *rig) { <-r.pool.Stop("a") }, claude.EndStopped},
		"replaced":    {func(r *rig) { <-r.pool.Drop("a") }, claude.EndReplaced},
		"out of time": {func(*rig) {}, claude.EndLimit},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *claude.Config) {
				c.AllowedTools = []string{"Bash(sleep *)"}
				if tc.want == claude.EndLimit {
					c.BackgroundLimit.Duration = 2 * time.Second
				}
			})
			w := r.inBackground(fresh(), "sleep 333")
			tc.end(r)
			if got := await(t, "the end", w.ended); got != tc.want {
				t.Errorf("told %q", got)
			}
			if got := r.pool.UnaskedState("a"); got != claude.NoProcess {
				t.Errorf("afterwards it is %q", got)
			}
		})
	}
}

// A process that is started ahead after a turn was stopped with a background command must not count as busy because of
// what its CLI reports about that at its start. The question is answered at once.
func TestAStoppedCommandDoesNotWakeTheAgent(t *testing.T) {
	r := unaskedRig(t)
	spec := fresh()
	w := r.inBackground(spec, "sleep 333")
	<-r.pool.Stop("a")
	await(t, "the end", w.ended)
	ahead, asked := withDir(resumed(spec), r.cfg.Project), len(r.model.Requests())
	ahead.Mode = "default"
	must(t, r.pool.StartAhead(t.Context(), "a", ahead))
	path, err := r.cfg.Transcripts("a").Path(ahead.Dir, spec.Session)
	must(t, err)
	must(t, poll(t.Context(), "the CLI's note", func() bool {
		data, err := os.ReadFile(path)
		must(t, err)
		return strings.Contains(string(data), "before the previous session ended")
	}))
	if got := r.pool.UnaskedState("a"); got != claude.Resting {
		t.Errorf("it is %q", got)
	}
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("1 2 3")}})
	if a := r.turn(t.Context(), "a", ahead, "数到 3"); a.err != nil || a.text() != "1 2 3" {
		t.Errorf("%q %v", a.text(), a.err)
	}
	if n, s := len(r.model.Requests())-asked, r.pool.Stats(); n != 1 || s.Started != 2 {
		t.Errorf("%d requests, %+v", n, s)
	}
}

// The oldest version presents the end of a background command to the model as a message of the user. There commands end
// within their turn.
func TestTheOldestCLIHasNoBackground(t *testing.T) {
	r := unaskedRig(t, withCLI(claudetest.Oldest(t)))
	r.model.Script(
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Tool("Bash",
			map[string]any{"command": "sleep 1", "description": "wait", "run_in_background": true})}},
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("done")}},
	)
	if a := r.turn(t.Context(), "a", fresh(), "go"); a.text() != "done" {
		t.Fatalf("%q %v", a.text(), a.err)
	}
	if !strings.Contains(r.model.Requests()[1].AllText(), "unexpected parameter `run_in_background`") {
		t.Error("the command was started in the background")
	}
}
