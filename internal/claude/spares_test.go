package claude_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
)

// ahead is a spec like that of fresh, for which spare processes are started. Their files lie in data.
func (r *rig) ahead(data string) claude.Spec {
	spec := withDir(fresh(), r.cfg.Project)
	spec.Kind, spec.Name = "p2p", "magpie-0123456789abcdef01234567"
	spec.Spare = func(folder string) claude.Spec {
		dir := filepath.Join(data, "files", folder)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			r.Error(err)
		}
		return claude.Spec{Files: dir}
	}
	return spec
}

// hasSpares waits until that many spare processes exist.
func (r *rig) hasSpares(n int) {
	r.Helper()
	must(r.T, poll(r.Context(), "processes without a chat", func() bool { return r.pool.Stats().Spare == n }))
}

// takeSpare waits for a spare process, assigns it to owner, and returns the folder for the chat's files.
func (n twoChats) takeSpare(owner string) (files string) {
	n.Helper()
	spec := n.ahead(n.data)
	must(n.T, n.pool.Expect(spec))
	n.hasSpares(1)
	idle := n.pool.Stats().Idle
	must(n.T, n.pool.TakeSpare(owner, spec, func(folder string) (bool, error) {
		files = filepath.Join(n.data, "files", folder)
		return n.folders.Bind(owner, folder), nil
	}))
	if files == "" || n.pool.Stats().Idle != idle+1 {
		n.Fatal("no process was taken")
	}
	return files
}

// The first message of a chat finds a running process with a session, a folder and files of its own. The process makes
// no request before the message. A later process resumes the session.
func TestAChatTakesASpareProcess(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		n := newTwoChats(t, command, func(c *claude.Config) { c.Spare = 1 })
		spec := n.ahead(n.data)
		spec.Files = n.takeSpare("a")
		if asked := n.model.Requests(); len(asked) != 0 {
			t.Errorf("the model was asked %d times before the first message", len(asked))
		}
		started := n.pool.Stats().Started
		a := n.turn(t.Context(), "a", spec, "我叫小明")
		if a.err != nil || a.text() == "" {
			t.Fatalf("%q %v", a.text(), a.err)
		}
		if a.result.Session == spec.Session {
			t.Error("the process has no session of its own")
		}
		n.hasSpares(1) // the next spare process
		if again := n.pool.Stats().Started - started; again != 1 {
			t.Errorf("%d processes were started", again)
		}
		spec.Session = a.result.Session
		<-n.pool.Drop("a")
		path, err := n.cfg.Transcripts("a").Path(n.cfg.Project, spec.Session)
		must(t, err)
		data, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(path, n.folder("a")) ||
			!strings.Contains(string(data), `"customTitle":"`+spec.Name+`"`) {
			t.Errorf("the session is not in the chat's folder, or has no name: %s %v", path, err)
		}
		if a := n.turn(t.Context(), "a", resumed(spec), "who am I?"); a.err != nil || a.result.Session != spec.Session {
			t.Errorf("resumed: %q %v", a.result.Session, a.err)
		}
	})
}

// newSparesRig is a pool with the scripted agent.
func newSparesRig(t *testing.T, change ...func(*claude.Config)) twoChats {
	t.Helper()
	return newTwoChats(t, claudetest.Scripted(t), append([]func(*claude.Config){
		func(c *claude.Config) { c.Spare, c.Environ = 1, claudetest.Environ(t, "") },
	}, change...)...)
}

// A spare process is started after a turn has ended, not while it runs.
func TestASpareProcessComesAfterTheTurn(t *testing.T) {
	n := newSparesRig(t)
	p := n.firstProcess("a", n.ahead(n.data))
	if s := n.pool.Stats(); s.Started != 1 || s.Spare != 0 {
		t.Errorf("%+v while the turn runs", s)
	}
	n.pool.Release(p)
	n.hasSpares(1)
	if s := n.pool.Stats(); s.Started != 2 || s.Idle != 1 || s.Running != 0 {
		t.Errorf("%+v", s)
	}
}

// A chat only takes a spare process that equals the one that it would have started.
func TestASpareProcessFits(t *testing.T) {
	n := newSparesRig(t)
	spec := n.ahead(n.data)
	must(t, n.pool.Expect(spec))
	n.hasSpares(1)
	other := t.TempDir()
	refused := errors.New("the disk is full")
	for what, change := range map[string]func(*claude.Spec){
		"another folder": func(s *claude.Spec) { s.Dir = other }, "another mode": func(s *claude.Spec) { s.Mode = "plan" },
		"another model": func(s *claude.Spec) { s.Model = "opus" }, "another effort": func(s *claude.Spec) { s.Effort = "low" },
		"another kind": func(s *claude.Spec) { s.Kind = "group" }, "suggestions": func(s *claude.Spec) { s.Suggest = true },
		"a session": func(s *claude.Spec) { s.Resume = true },
	} {
		s := spec
		change(&s)
		must(t, n.pool.TakeSpare("a", s, func(string) (bool, error) { t.Error(what); return true, nil }))
	}
	// The chat has a folder already.
	must(t, n.pool.TakeSpare("a", spec, func(string) (bool, error) { return false, nil }))
	if s := n.pool.Stats(); s.Spare != 1 || s.Idle != 0 || s.Started != 1 {
		t.Errorf("%+v", s)
	}
	// After an error it is unknown whose folder it is: no other chat gets it, and it is not removed.
	disputed := ""
	dispute := func(id string) (bool, error) { disputed = id; return true, refused }
	if err := n.pool.TakeSpare("a", spec, dispute); !errors.Is(err, refused) {
		t.Error(err)
	}
	if s := n.pool.Stats(); s.Idle != 0 {
		t.Errorf("%+v", s)
	}
	for _, path := range []string{disputed, "spares/" + disputed} {
		if _, err := os.Stat(filepath.Join(n.cfg.State, path)); err != nil {
			t.Error(err)
		}
	}
	// A taken process that does not fit the turn ends, and the turn starts its own.
	spec.Files = n.takeSpare("a")
	if spec.Files == filepath.Join(n.data, "files", disputed) {
		t.Error("another chat got the folder")
	}
	spec.Mode = "plan"
	p, err := n.pool.Acquire(t.Context(), "a", spec)
	must(t, err)
	defer n.pool.Release(p)
	if p.Session() != spec.Session {
		t.Error("a process of another mode serves the turn")
	}
	// With a limit for each turn no spare process is started.
	spec.Mode, spec.Budget = "default", 1
	must(t, n.pool.TakeSpare("b", spec, func(string) (bool, error) { t.Error("taken"); return true, nil }))
	n.hasSpares(0)
}

// The spare process fits the most recent turn.
func TestTheSpareProcessIsOfTheLastTurn(t *testing.T) {
	n := newSparesRig(t)
	one, two := n.ahead(n.data), n.ahead(n.data)
	two.Mode = "plan"
	must(t, n.pool.Expect(one))
	n.hasSpares(1)
	n.pool.Release(n.firstProcess("a", two))
	must(t, poll(t.Context(), "another process", func() bool {
		taken := false
		must(t, n.pool.TakeSpare("b", two, func(string) (bool, error) { taken = true; return false, nil }))
		return taken
	}))
	n.hasSpares(1)
}

// With several, each of the most recent combinations has one, started in that order. The combination that was used
// least recently makes room.
func TestSpareProcessesAreOfTheLastCombinations(t *testing.T) {
	n := newSparesRig(t, func(c *claude.Config) { c.Spare = 2 })
	var mu sync.Mutex
	var starts []string
	hold := make(chan struct{})
	expect := func(mode string) {
		spec := n.ahead(n.data)
		files := spec.Spare
		spec.Mode, spec.Spare = mode, func(folder string) claude.Spec {
			mu.Lock()
			starts = append(starts, mode)
			mu.Unlock()
			<-hold
			return files(folder)
		}
		must(t, n.pool.Expect(spec))
	}
	started := func(want ...string) {
		t.Helper()
		must(t, poll(t.Context(), fmt.Sprint("the starts ", want), func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(slices.Compact(slices.Clone(starts))) >= len(want)
		}))
		n.hasSpares(2)
		mu.Lock()
		defer mu.Unlock()
		// A start for which there was no room, as all cores were busy with others, was tried again.
		if got := slices.Compact(slices.Clone(starts)); !slices.Equal(got, want) || n.pool.Stats().Started != len(want) {
			t.Errorf("started %q, want %q, %+v", got, want, n.pool.Stats())
		}
	}
	expect("default")
	expect("plan")
	expect("acceptEdits")
	close(hold)
	started("default", "acceptEdits", "plan")
	expect("acceptEdits") // it exists already
	expect("default")     // plan is the newest process, but was used least recently
	started("default", "acceptEdits", "plan", "default")
	expect("acceptEdits")
	expect("default")
	started("default", "acceptEdits", "plan", "default")
}

// firstProcess is a process for the first message of a chat, without a spare one.
func (n twoChats) firstProcess(owner string, spec claude.Spec) *claude.Process {
	n.Helper()
	must(n.T, n.pool.TakeSpare(owner, spec, func(string) (bool, error) { return false, nil }))
	return n.acquireFor(owner, spec)
}

// acquireFor takes a process for the chat.
func (n twoChats) acquireFor(owner string, spec claude.Spec) *claude.Process {
	n.Helper()
	p, err := n.pool.Acquire(n.Context(), owner, spec)
	must(n.T, err)
	return p
}

// A spare process gives its slot to any turn, before an idle process does. It leaves nothing behind.
func TestASpareProcessMakesRoom(t *testing.T) {
	n := newSparesRig(t, func(c *claude.Config) { c.MaxProcesses = 3 })
	spec := n.ahead(n.data)
	pa := n.firstProcess("a", spec)
	for range pa.Run(t.Context(), uuid.NewString(), "hello") { //nolint:revive // wait for the answer
	}
	n.pool.Release(pa)
	n.hasSpares(1)
	if left := n.leftovers(); left != "1 folders 1 marks" {
		t.Errorf("of a spare process: %s", left)
	}
	b, c := spec, spec
	b.Session, c.Session, b.Spare, c.Spare = uuid.NewString(), uuid.NewString(), nil, nil
	pb := n.acquireFor("b", b)
	pc := n.acquireFor("c", c)
	if s := n.pool.Stats(); s.Spare != 0 || s.Idle != 1 || s.Running != 2 || !running(pa) {
		t.Errorf("%+v", s)
	}
	must(t, poll(t.Context(), "an empty folder", func() bool { return n.leftovers() == "0 folders 0 marks" }))
	n.pool.Release(pb)
	n.pool.Release(pc)
}

// leftovers counts what spare processes have on disk.
func (n twoChats) leftovers() string {
	n.Helper()
	marks, _ := filepath.Glob(filepath.Join(strings.ReplaceAll(n.cfg.State, "[", `\[`), "spares", "*"))
	folders := 0
	for _, m := range marks {
		if _, err := os.Stat(filepath.Join(n.cfg.State, filepath.Base(m))); err == nil {
			folders++
		}
	}
	return fmt.Sprintf("%d folders %d marks", folders, len(marks))
}

// After kill -9 the folders of spare processes are removed. Those that a chat has just taken are kept.
func TestSparesOfAKilledBridgeAreRemoved(t *testing.T) {
	n := newSparesRig(t)
	if err := n.cfg.RemoveSpares("", nil); err != nil {
		t.Error("without any:", err)
	}
	kept, gone := uuid.NewString(), uuid.NewString()
	for _, id := range []string{kept, gone} {
		must(t, os.MkdirAll(filepath.Join(n.data, "files", id), 0o700))
		write(t, filepath.Join(n.cfg.State, "spares", id), "")
		write(t, filepath.Join(n.cfg.State, id, "projects", "x.jsonl"), "{}")
		write(t, filepath.Join(n.cfg.State, "settings", id+".json"), "{}")
	}
	write(t, filepath.Join(n.cfg.State, "spares", "..x"), "")
	unknown := errors.New("the database is locked")
	if err := n.cfg.RemoveSpares(filepath.Join(n.data, "files"),
		func(string) (bool, error) { return false, unknown }); !errors.Is(err, unknown) {
		t.Error(err)
	}
	if left := n.leftovers(); left != "2 folders 3 marks" {
		t.Errorf("a folder that may belong to a chat must be kept: %s", left)
	}
	must(t, n.cfg.RemoveSpares(filepath.Join(n.data, "files"), func(id string) (bool, error) { return id == kept, nil }))
	for path, want := range map[string]bool{
		kept + "/projects/x.jsonl": true, "settings/" + kept + ".json": true, "spares/" + kept: false,
		"../files/" + kept: true, "../files/" + gone: false,
		gone: false, "settings/" + gone + ".json": false, "spares/" + gone: false,
	} {
		if _, err := os.Stat(filepath.Join(n.cfg.State, path)); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// When all slots are taken, a turn gets that of a spare process, even if it is just starting.
func TestNoTurnWaitsBehindASpareProcess(t *testing.T) {
	n := newSparesRig(t, func(c *claude.Config) { c.MaxProcesses = 2 })
	spec := n.ahead(n.data)
	for range 5 {
		must(t, n.pool.Expect(spec))
		got := make(chan *claude.Process, 2)
		errs := make(chan error, 2)
		for _, owner := range []string{"a", "b"} {
			go func() {
				s := withDir(fresh(), n.cfg.Project)
				p, err := n.pool.Acquire(t.Context(), owner, s)
				got <- p
				errs <- err
			}()
		}
		a, b := <-got, <-got
		must(t, errors.Join(<-errs, <-errs))
		if s := n.pool.Stats(); s.Running != 2 || s.Spare != 0 {
			t.Errorf("%+v", s)
		}
		n.pool.Release(a)
		n.pool.Release(b)
		<-n.pool.Drop("a")
		<-n.pool.Drop("b")
	}
}
