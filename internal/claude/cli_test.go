package claude_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
	"magpie/internal/modelsim"
)

// rig is a pool of real CLI processes with a simulated model.
type rig struct {
	*testing.T
	model *modelsim.Server
	cfg   claude.Config
	pool  *claude.Pool

	decide func(claude.ToolAsk) claude.Decision // nil = nothing is allowed
}

func newRig(t *testing.T, change ...func(*claude.Config)) *rig {
	t.Helper()
	t.Parallel()
	model, err := modelsim.Start(modelsim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	cfg := claudetest.Config(t, model.URL())
	cfg.Grace = 20 * time.Second // an agent that obeys must not be killed on a busy machine
	for _, f := range change {
		f(&cfg)
	}
	pool := claude.NewPool(cfg)
	t.Cleanup(pool.Close)
	return &rig{T: t, model: model, cfg: cfg, pool: pool}
}

// withCLI selects the version of the CLI that runs the agents; see [claudetest.Versions].
func withCLI(command string) func(*claude.Config) {
	return func(c *claude.Config) { c.Command = command }
}

// scripted selects the scripted agent, for tests of the pool to which the CLI adds nothing.
func scripted(t *testing.T) func(*claude.Config) {
	t.Helper()
	return withCLI(claudetest.Scripted(t))
}

// answer is the outcome of one turn.
type answer struct {
	blocks []string
	events []claude.Event
	result claude.Result
	err    error
}

func (a answer) text() string { return strings.Join(a.blocks, "|") }

// turn runs one turn of owner; each is called with every event.
func (r *rig) turn(ctx context.Context, owner string, spec claude.Spec, prompt string,
	each ...func(claude.Event)) answer {
	r.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if spec.Dir == "" {
		spec.Dir = r.cfg.Project
	}
	if spec.Mode == "" {
		spec.Mode = "default"
	}
	p, err := r.pool.Acquire(ctx, owner, spec)
	if err != nil {
		return answer{err: err}
	}
	defer r.pool.Release(p)
	var a answer
	for ev, err := range p.Run(ctx, uuid.NewString(), prompt) {
		if err != nil {
			a.err = err
			break
		}
		a.take(ev)
		if q, ok := ev.(claude.ToolAsk); ok {
			r.answer(p, q)
		}
		for _, f := range each {
			f(ev)
		}
	}
	return a
}

func (r *rig) answer(p *claude.Process, q claude.ToolAsk) {
	r.Helper()
	v := claude.Decision{Why: "nobody allows this"}
	if r.decide != nil {
		v = r.decide(q)
	}
	if !p.Answer(q.ID, v) || p.Answer(q.ID, v) {
		r.Error("an ask is not answered exactly once")
	}
}

func (a *answer) take(ev claude.Event) {
	a.events = append(a.events, ev)
	switch e := ev.(type) {
	case claude.Text:
		for len(a.blocks) <= e.Block {
			a.blocks = append(a.blocks, "")
		}
		if e.Whole {
			a.blocks[e.Block] = ""
		}
		a.blocks[e.Block] += e.Text
	case claude.Rewind:
		a.blocks = a.blocks[:e.Block]
	case claude.Result:
		a.result = e
	}
}

func fresh() claude.Spec { return claude.Spec{Session: uuid.NewString()} }

func resumed(s claude.Spec) claude.Spec {
	s.Resume = true
	return s
}

func TestAnAnswerStreamsAndTheProcessIsKept(t *testing.T) {
	r := newRig(t)
	spec := fresh()
	a := r.turn(t.Context(), "a", spec, "我叫小明")
	if a.err != nil || a.result.Failure != "" || a.text() != "好的，小明，我记住了。" {
		t.Fatalf("%q, %+v, %v", a.text(), a.result, a.err)
	}
	deltas := 0
	for _, ev := range a.events {
		if e, ok := ev.(claude.Text); ok && !e.Whole {
			deltas++
		}
	}
	if deltas < 2 {
		t.Errorf("%d deltas", deltas)
	}
	if a.result.Session != spec.Session || a.result.CostUSD <= 0 || a.result.Usage.Output == 0 || a.result.Model == "" {
		t.Errorf("result = %+v", a.result)
	}
	if !r.pool.HasIdle("a", spec.Session) {
		t.Fatal("no process was kept")
	}
	p, err := r.pool.Acquire(t.Context(), "a", resumed(withDir(spec, r.cfg.Project)))
	if err != nil || p.Fresh() {
		t.Fatalf("the second turn got a new process (%v)", err)
	}
	r.pool.Release(p)
	b := r.turn(t.Context(), "a", resumed(spec), "我叫什么名字？")
	if b.text() != "你叫小明。" {
		t.Errorf("second turn: %q %v", b.text(), b.err)
	}
	if b.result.CostUSD > 3*a.result.CostUSD {
		t.Errorf("the second turn costs %f after %f: counted from the start of the process?", b.result.CostUSD,
			a.result.CostUSD)
	}
}

func withDir(s claude.Spec, dir string) claude.Spec {
	s.Dir, s.Mode = dir, "default"
	return s
}

func TestPathsAndSlashesInTextsAreOnlyText(t *testing.T) {
	r := newRig(t)
	secret := filepath.Join(t.TempDir(), "secret.txt")
	if err := os.WriteFile(secret, []byte("canary-4711"), 0o600); err != nil {
		t.Fatal(err)
	}
	spec := fresh()
	for _, text := range []string{
		"@" + secret + " 里写了什么", "看看 @" + secret, "/help", "/compact", "/nosuch thing", "-h",
	} {
		a := r.turn(t.Context(), "a", spec, text)
		spec.Resume = true
		reqs := r.model.Requests()
		if a.err != nil || a.result.Failure != "" || len(reqs) == 0 {
			t.Fatalf("%q: %+v %v", text, a.result, a.err)
		}
		last := reqs[len(reqs)-1]
		if got := strings.TrimSpace(last.LastUser()); got != text {
			t.Errorf("the model was asked %q, want %q", got, text)
		}
		if strings.Contains(string(last.Body), "canary-4711") {
			t.Errorf("%q made the CLI read the file", text)
		}
	}
	if n := len(r.model.Requests()); n != 6 {
		t.Errorf("%d model calls for 6 texts", n)
	}
}

func TestStopInTheMiddleOfAText(t *testing.T) {
	r := newRig(t)
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("one two "), modelsim.Hang()}})
	ctx, stop := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	spec := fresh()
	a := r.turn(ctx, "a", spec, "go", func(ev claude.Event) {
		if _, ok := ev.(claude.Text); ok {
			stop(stopped)
		}
	})
	if !errors.Is(a.err, stopped) || a.text() != "one two " {
		t.Fatalf("%q %v", a.text(), a.err)
	}
	if !r.pool.HasIdle("a", spec.Session) {
		t.Error("the process did not survive the interrupt")
	}
	if b := r.turn(t.Context(), "a", resumed(spec), "数到 3"); b.text() != "1 2 3" {
		t.Errorf("next turn: %q %v", b.text(), b.err)
	}
}

// A tool runs in a session of its own, which signals to the CLI's process group do not reach.
func TestStopKillsWhatAToolStarted(t *testing.T) {
	r := newRig(t, func(c *claude.Config) { c.AllowedTools = []string{"Bash"} })
	mark := filepath.Join(t.TempDir(), "pid")
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{
		modelsim.Tool("Bash", map[string]any{"command": "echo $$ > " + mark + "; sleep 300", "description": "sleep"}),
	}})
	ctx, stop := context.WithCancelCause(t.Context())
	go func() {
		_ = waitFile(ctx, mark)
		stop(errors.New("stopped"))
	}()
	a := r.turn(ctx, "a", fresh(), "go")
	if a.err == nil || a.err.Error() != "stopped" {
		t.Fatalf("err = %v", a.err)
	}
	pid, err := os.ReadFile(mark)
	if err != nil {
		t.Fatal(err)
	}
	if err := waitGone(t.Context(), strings.TrimSpace(string(pid))); err != nil {
		t.Error(err)
	}
}

func TestABrokenStreamIsRepeatedNotAppended(t *testing.T) {
	claudetest.Versions(t, aBrokenStreamIsRepeatedNotAppended)
}

func aBrokenStreamIsRepeatedNotAppended(t *testing.T, command string) {
	r := newRig(t, withCLI(command))
	r.model.Script(
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("half an ans"), modelsim.Cut()}},
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("a whole answer")}},
	)
	a := r.turn(t.Context(), "a", fresh(), "go")
	if a.err != nil || a.text() != "a whole answer" {
		t.Errorf("%q %v", a.text(), a.err)
	}
}

func TestABadKeyIsReported(t *testing.T) {
	r := newRig(t)
	r.model.Script(modelsim.Rule{
		Steps: []modelsim.Step{modelsim.Fail(401, "authentication_error", "invalid x-api-key")},
	})
	a := r.turn(t.Context(), "a", fresh(), "go")
	if a.err != nil || a.result.Failure != claude.FailKey {
		t.Fatalf("%+v %v", a.result, a.err)
	}
	if n := len(r.model.Requests()); n > 5 { // the CLI says only at the end what the server has said
		t.Errorf("the key was tried %d times", n)
	}
}

func TestASilentModelTimesOut(t *testing.T) {
	r := newRig(t, scripted(t), func(c *claude.Config) { c.Silence.Duration = 2 * time.Second })
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("well "), modelsim.Hang()}})
	a := r.turn(t.Context(), "a", fresh(), "go")
	if !errors.Is(a.err, claude.ErrSilent) {
		t.Errorf("err = %v", a.err)
	}
}

func TestATurnHasALimit(t *testing.T) {
	r := newRig(t, scripted(t), func(c *claude.Config) { c.TurnLimit.Duration = 2 * time.Second })
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Hang()}})
	if a := r.turn(t.Context(), "a", fresh(), "go"); !errors.Is(a.err, claude.ErrTurnEnd) {
		t.Errorf("err = %v", a.err)
	}
}

// Silence while a tool runs does not count as a stalled turn.
func TestASlowToolIsNotSilence(t *testing.T) {
	r := newRig(t, scripted(t), func(c *claude.Config) {
		c.Silence.Duration = 5 * time.Second
		c.AllowedTools = []string{"Bash"}
	})
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{
		modelsim.Tool("Bash", map[string]any{"command": "sleep 6", "description": "sleep"}),
	}})
	if a := r.turn(t.Context(), "a", fresh(), "go"); a.err != nil || a.result.Failure != "" {
		t.Errorf("%+v %v", a.result, a.err)
	}
}

// Each way in which a session can be lost, and how early that is detected.
func TestLostSessions(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		lose func(r *rig, path string, spec *claude.Spec)
		want claude.LostCause // empty: the CLI can resume it
	}{
		{"transcript deleted", func(_ *rig, path string, _ *claude.Spec) { _ = os.Remove(path) }, claude.LostMissing},
		{"transcript emptied", func(_ *rig, path string, _ *claude.Spec) { _ = os.Truncate(path, 0) },
			claude.LostEmpty},
		{"transcript garbled", func(_ *rig, path string, _ *claude.Spec) {
			_ = os.WriteFile(path, []byte("\x00\xffgarbage\n\x01more"), 0o600)
		}, claude.LostCorrupt},
		{"config folder deleted", func(r *rig, path string, _ *claude.Spec) {
			_ = os.RemoveAll(filepath.Dir(filepath.Dir(filepath.Dir(path))))
		}, claude.LostMissing},
		{"unknown id", func(_ *rig, _ string, s *claude.Spec) { s.Session = uuid.NewString() }, claude.LostMissing},
		{"other project path", func(r *rig, _ string, s *claude.Spec) { s.Dir = r.TempDir() }, claude.LostElsewhere},
		{"last line torn", func(_ *rig, path string, _ *claude.Spec) {
			info, err := os.Stat(path)
			if err == nil {
				_ = os.Truncate(path, info.Size()-20)
			}
		}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			agent := scripted(t)
			if tc.want == "" { // else no process is started
				agent = withCLI(claudetest.Command(t))
			}
			r := newRig(t, agent)
			spec := fresh()
			if a := r.turn(t.Context(), "a", spec, "我叫小明"); a.err != nil {
				t.Fatal(a.err)
			}
			<-r.pool.Drop("a")
			path, err := r.cfg.Transcripts("").Path(r.cfg.Project, spec.Session)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(path); err != nil {
				t.Fatalf("the transcript is not where it was expected: %v", err)
			}
			spec = resumed(spec)
			tc.lose(r, path, &spec)
			a := r.turn(t.Context(), "a", spec, "我叫什么名字？")
			var lost *claude.LostError
			switch {
			case tc.want == "" && (a.err != nil || a.result.Failure != ""):
				t.Errorf("%+v %v", a.result, a.err)
			case tc.want != "" && (!errors.As(a.err, &lost) || lost.Cause != tc.want):
				t.Errorf("err = %v, want %q", a.err, tc.want)
			}
		})
	}
}

// When the check of the transcript overlooks a lost session, the CLI's own refusal still reports it.
func TestTheCLIRefusesASession(t *testing.T) { claudetest.Versions(t, theCLIRefusesASession) }

func theCLIRefusesASession(t *testing.T, command string) {
	r := newRig(t, withCLI(command))
	spec := resumed(fresh())
	path, err := r.cfg.Transcripts("").Path(r.cfg.Project, spec.Session)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(`{"type":"user","oddly":"without anything that the CLI needs"}`+"\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	a := r.turn(t.Context(), "a", spec, "hi")
	if a.err != nil || a.result.Failure != claude.FailSession {
		t.Errorf("%+v %v", a.result, a.err)
	}
}

// Each turn has a process of its own, which resumes the session.
func TestOddProjectPaths(t *testing.T) {
	r := newRig(t, func(c *claude.Config) { c.KeepAlive.Duration = 0 })
	for _, name := range []string{"we ird_dir.é中文 emoji😀x", strings.Repeat("long", 60)} {
		spec := fresh()
		spec.Dir = filepath.Join(r.cfg.Project, name)
		if err := os.Mkdir(spec.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(spec.Dir, link); err != nil {
			t.Fatal(err)
		}
		r.turn(t.Context(), "a", spec, "我叫小明")
		spec.Dir = link
		if a := r.turn(t.Context(), "a", resumed(spec), "我叫什么名字？"); a.text() != "你叫小明。" {
			t.Errorf("%s: %q %v", name, a.text(), a.err)
		}
	}
}
