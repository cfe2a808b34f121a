package claude_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
	"magpie/internal/modelsim"
)

var sumUp = claude.Errand{System: "Sum up what you are given.", Text: "/compact is what 小明 wrote, and @/etc/hostname"}

// isAsked distinguishes a task's request from those of turns.
func isAsked(r *modelsim.Request) bool { return strings.Contains(r.System, sumUp.System) }

func (r *rig) awaitModel(what string, cond func([]modelsim.Request) bool) {
	r.Helper()
	ctx, cancel := context.WithTimeoutCause(r.Context(), patience, errors.New("timeout"))
	defer cancel()
	if err := r.model.Await(ctx, cond); err != nil {
		r.Fatalf("waiting for %s: %v", what, err)
	}
}

// A task reaches the model unchanged, without tools, and leaves nothing in the CLI's folders.
func TestATaskOutsideTheChats(t *testing.T) { claudetest.Versions(t, aTaskOutsideTheChats) }

func aTaskOutsideTheChats(t *testing.T, command string) {
	r := newRig(t, withCLI(command))
	must(t, os.WriteFile(filepath.Join(r.cfg.Project, "CLAUDE.md"), []byte("Speak of penguins."), 0o600))
	r.model.Script(modelsim.Rule{
		Match: isAsked, Steps: []modelsim.Step{modelsim.Usage(5000), modelsim.Text("\n小明 wrote a command. \n")},
	})
	got, err := r.pool.RunErrand(t.Context(), sumUp)
	if err != nil || got.Text != "小明 wrote a command." || got.CostUSD <= 0 || got.Model == "" {
		t.Fatalf("%+v, %v", got, err)
	}
	if u := got.Usage; u.Input+u.CacheRead+u.CacheNew != 5000 || u.Output == 0 {
		t.Errorf("usage %+v", u)
	}
	list := r.model.Requests()
	if len(list) != 1 {
		t.Fatalf("the model was asked %d times", len(list))
	}
	req := list[0]
	if req.LastUser() != sumUp.Text || len(req.Tools) != 0 || strings.Contains(req.AllText(), "penguins") ||
		!strings.Contains(req.System, sumUp.System) {
		t.Errorf("tools %v, text %q", req.Tools, req.AllText())
	}
	if files := transcripts(t, r.cfg); len(files) != 0 {
		t.Errorf("left behind: %v", files)
	}
	if s := r.pool.Stats(); s.Running != 0 || s.Idle != 0 || s.Started != 1 {
		t.Errorf("the pool has %+v", s)
	}
}

// The working folder of a task is removed afterwards.
func TestATaskLeavesNoFolder(t *testing.T) {
	cfg := claudetest.ScriptedConfig(t)
	t.Setenv("TMPDIR", t.TempDir())
	pool := claude.NewPool(cfg)
	t.Cleanup(pool.Close)
	if got, err := pool.RunErrand(t.Context(), sumUp); err != nil || got.Text != "echo: "+sumUp.Text {
		t.Errorf("%+v, %v", got, err)
	}
	left, err := os.ReadDir(os.TempDir())
	must(t, err)
	if files := transcripts(t, cfg); len(left)+len(files) != 0 {
		t.Errorf("left behind: %v, %v", left, files)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// transcripts lists the files in the CLI's folder of sessions.
func transcripts(t *testing.T, cfg claude.Config) (files []string) {
	t.Helper()
	path, err := cfg.Transcripts("").Path(cfg.Project, "x")
	must(t, err)
	err = filepath.WalkDir(filepath.Dir(filepath.Dir(path)), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() { // a missing folder is an error, and fine
			files = append(files, path)
		}
		return nil
	})
	must(t, err)
	return files
}

func TestATaskThatFails(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		steps []modelsim.Step
		want  error
		limit time.Duration
	}{
		"failure": {steps: []modelsim.Step{modelsim.Fail(403, "permission_error", "no")}, limit: time.Minute},
		"silence": {steps: []modelsim.Step{modelsim.Text("half"), modelsim.Hang()}, want: claude.ErrErrandTimeout,
			limit: 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *claude.Config) { c.TaskLimit.Duration = tc.limit })
			r.model.Script(modelsim.Rule{Match: isAsked, Steps: tc.steps})
			got, err := r.pool.RunErrand(t.Context(), sumUp)
			if err == nil || tc.want != nil && !errors.Is(err, tc.want) {
				t.Errorf("%+v, %v", got, err)
			}
			if s := r.pool.Stats(); s.Running != 0 {
				t.Errorf("%d processes run", s.Running)
			}
			if _, err := r.pool.RunErrand(t.Context(), claude.Errand{System: "x", Text: " \n"}); err == nil {
				t.Error("an empty task was answered")
			}
		})
	}
}

// With a single slot, a turn gets it at once, and the task is asked again afterwards.
func TestATaskMakesRoomForATurn(t *testing.T) {
	r := newRig(t, scripted(t), func(c *claude.Config) {
		c.MaxProcesses = 1
		c.KeepAlive.Duration = 300 * time.Millisecond // a task ends no idle process
	})
	r.model.Script(
		modelsim.Rule{Match: isAsked, Times: 1, Steps: []modelsim.Step{modelsim.Hang()}},
		modelsim.Rule{Match: isAsked, Steps: []modelsim.Step{modelsim.Text("done")}})
	type outcome struct {
		reply claude.Reply
		err   error
	}
	asked := make(chan outcome, 1)
	go func() {
		reply, err := r.pool.RunErrand(t.Context(), sumUp)
		asked <- outcome{reply, err}
	}()
	r.awaitModel("the question", func(list []modelsim.Request) bool { return len(list) == 1 })
	if a := r.turn(t.Context(), "a", fresh(), "数到 3"); a.err != nil || a.text() != "1 2 3" {
		t.Errorf("the turn: %q, %v", a.text(), a.err)
	}
	if got := <-asked; got.err != nil || got.reply.Text != "done" {
		t.Errorf("the question: %+v", got)
	}
	r.awaitModel("the end of the first call", func(list []modelsim.Request) bool { return list[0].Cancelled })
	if list := r.model.Requests(); len(list) != 3 || isAsked(&list[1]) || !isAsked(&list[2]) {
		t.Errorf("%d requests", len(list))
	}
}

// The size of the session is that of the last model call, not the sum over a turn's calls.
func TestTheSizeOfTheSession(t *testing.T) {
	r := newRig(t, func(c *claude.Config) { c.AllowedTools = []string{"Bash"} })
	r.model.Script(
		modelsim.Rule{
			Times: 1, Steps: []modelsim.Step{
				modelsim.Usage(40_000), modelsim.Tool("Bash", map[string]string{"command": "true", "description": "x"}),
			},
		},
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Usage(50_000), modelsim.Text("done")}})
	a := r.turn(t.Context(), "a", fresh(), "go")
	if a.err != nil || a.result.Held <= 50_000 || a.result.Held > 50_100 {
		t.Errorf("the session holds %d tokens, %v", a.result.Held, a.err)
	}
	if u := a.result.Usage; u.Input+u.CacheRead+u.CacheNew < 90_000 {
		t.Errorf("the turn used %+v", u)
	}
}
