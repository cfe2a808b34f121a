//go:build linux

package claude_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"magpie/internal/boottime"
	"magpie/internal/claude"
	"magpie/internal/claude/proctree"
	"magpie/internal/claude/workspace"
	"magpie/internal/modelsim"
)

// roleVariable makes the test binary run as a small bridge, for tests of what a killed program leaves behind.
const roleVariable = "MAGPIE_TEST_BRIDGE"

func TestMain(m *testing.M) {
	if started := os.Getenv(serverVariable); started != "" {
		if err := errors.Join(failMCP(started), serveMCP(started)); err != nil {
			os.Exit(1)
		}
		return
	}
	job := os.Getenv(roleVariable)
	if job == "" {
		os.Exit(m.Run())
	}
	_ = os.Unsetenv(roleVariable)
	if err := bridge(job); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// job is the task of a small bridge.
type job struct {
	Config claude.Config
	Spec   claude.Spec
	Prompt string
	Adopt  bool
	Sweep  bool // only sweep
	Guard  bool // a watchdog ends the agents
}

// bridge runs one turn. It prints "asks" when people would be asked, then "turn", closes its pool, prints "closed" and
// waits for the end of its input.
func bridge(text string) error {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return err
	}
	if j.Sweep {
		n, err := proctree.Sweep(context.Background(), j.Config.Instance, nil)
		fmt.Println("swept", n)
		return err
	}
	if j.Adopt {
		stop, err := proctree.AdoptOrphans()
		if err != nil {
			return err
		}
		defer stop()
		for range 50 { // the sweep must not reap the program's other children
			var exit *exec.ExitError
			if err := exec.Command("sh", "-c", "exit 3").Run(); !errors.As(err, &exit) || exit.ExitCode() != 3 {
				return fmt.Errorf("the exit status of a child was lost: %w", err)
			}
		}
	}
	if j.Guard {
		guard := proctree.Watchdog{Instance: j.Config.Instance}
		guard.Extend(boottime.Now() + 4*time.Second)
		go func() {
			for range time.Tick(100 * time.Millisecond) {
				guard.Extend(boottime.Now() + 4*time.Second)
			}
		}()
		go guard.Run(context.Background(), func(err error) { fmt.Fprintln(os.Stderr, err) })
	}
	pool := claude.NewPool(j.Config)
	p, err := pool.Acquire(context.Background(), "a", j.Spec)
	if err != nil {
		return err
	}
	for ev, err := range p.Run(context.Background(), j.Prompt, "go on") {
		if err != nil {
			return err
		}
		if _, ok := ev.(claude.ToolAsk); ok {
			fmt.Println("asks")
		}
	}
	fmt.Println("turn")
	pool.Release(p)
	pool.Close()
	fmt.Println("closed")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// Program is a small bridge that runs.
type Program struct {
	*exec.Cmd
	says  *bufio.Scanner
	input io.Closer
}

func (r *rig) program(j job, environ ...string) Program {
	r.Helper()
	j.Config = r.cfg
	text, err := json.Marshal(j)
	if err != nil {
		r.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		r.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(append(os.Environ(), roleVariable+"="+string(text)), environ...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		r.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = cmd.Process.Kill() })
	return Program{cmd, bufio.NewScanner(out), in}
}

// await reads the program's output up to that word.
func (p Program) await(t *testing.T, word string) {
	t.Helper()
	limit := time.AfterFunc(patience, func() { _ = p.Process.Kill() })
	defer limit.Stop()
	for p.says.Scan() {
		if p.says.Text() == word {
			return
		}
	}
	t.Fatalf("the program never said %q", word)
}

// pidsIn waits until a file has that many lines, each with a process id.
func pidsIn(t *testing.T, file string, lines int) []string {
	t.Helper()
	var pids []string
	if err := poll(t.Context(), "process ids", func() bool {
		data, _ := os.ReadFile(file)
		pids = strings.Fields(string(data))
		return len(pids) == lines
	}); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		if !there(pid) {
			t.Fatalf("process %s is gone before anybody could end it", pid)
		}
	}
	return pids
}

// there reports whether a process runs. A zombie does not.
func there(pid string) bool {
	data, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// runs reports whether a process of an instance exists.
func runs(instance string) bool {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	return slices.ContainsFunc(files, func(file string) bool {
		env, _ := os.ReadFile(file) // empty for a process that has ended
		return bytes.Contains(env, []byte("MAGPIE_PROCESS="+instance+"/"))
	})
}

// leaves is a shell command that leaves processes behind in several ways and writes their ids to the file.
func leaves(file string) string {
	note := "sh -c 'echo $$ >> " + file + "; exec sleep 300' >/dev/null 2>&1"
	return fmt.Sprintf("nohup %s & setsid %s & (setsid sh -c '%s &' &) ", note, note,
		strings.ReplaceAll(note, "'", `'\''`))
}

func tool(command string) modelsim.Rule {
	return modelsim.Rule{Times: 1, Steps: []modelsim.Step{
		modelsim.Text("let me"), modelsim.Tool("Bash", map[string]any{"command": command, "description": "leave"}),
	}}
}

func TestASweepEndsWhatAKilledBridgeLeft(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pids")
	r := newRig(t, func(c *claude.Config) { c.AllowedTools, c.Instance = []string{"Bash"}, uuid.NewString() })
	r.model.Script(tool(leaves(file) + "; echo $$ >> " + file + "; sleep 300"))
	j := job{Spec: withDir(fresh(), r.cfg.Project), Prompt: uuid.NewString()}
	p := r.program(j)
	pids := pidsIn(t, file, 4)
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait()

	if n, err := proctree.Sweep(t.Context(), uuid.NewString(), nil); n != 0 || err != nil {
		t.Errorf("the sweep of another instance ended %d processes: %v", n, err)
	}
	for _, pid := range pids {
		if !there(pid) {
			t.Fatalf("process %s was ended for another instance", pid)
		}
	}
	began := time.Now()
	n, err := proctree.Sweep(t.Context(), r.cfg.Instance, nil)
	if err != nil || n < len(pids)+1 {
		t.Errorf("the sweep ended %d processes: %v", n, err)
	}
	t.Logf("%d processes ended in %v", n, time.Since(began))
	for _, pid := range pids {
		if there(pid) {
			t.Errorf("process %s is still there", pid)
		}
	}
	if n, err := proctree.Sweep(t.Context(), r.cfg.Instance, nil); n != 0 || err != nil {
		t.Errorf("a second sweep found %d processes: %v", n, err)
	}
	got, err := r.cfg.Transcripts("").ReadOutcome(r.cfg.Project, j.Spec.Session, j.Prompt)
	if err != nil || !got.Known || !got.Acted || got.Ended || got.Text != "let me" {
		t.Errorf("recalled %+v %v", got, err)
	}
}

// With a watchdog nothing is left of the agents of a bridge that is killed, behind the wall, too, whatever their tools have
// started, but other bridges keep theirs.
func TestAWatchdogEndsWhatAKilledBridgeLeaves(t *testing.T) {
	for _, mode := range []workspace.WallMode{"off", "auto"} {
		t.Run(string(mode), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pids")
			r := newRig(t, func(c *claude.Config) {
				c.AllowedTools, c.Instance, c.Wall = []string{"Bash"}, uuid.NewString(), mode
			})
			r.model.Script(tool(leaves(file)+"; echo $$ >> "+file+"; sleep 300"), tool("echo $$ >> "+file+"; sleep 300"))
			j := job{Spec: withDir(fresh(), r.cfg.Project), Prompt: uuid.NewString(), Guard: true}
			p := r.program(j)
			pidsIn(t, file, 4)
			j.Spec, r.cfg.Instance = withDir(fresh(), r.cfg.Project), uuid.NewString()
			r.program(j)
			pids := pidsIn(t, file, 5)
			began := time.Now()
			must(t, p.Process.Kill())
			_ = p.Wait()
			must(t, poll(t.Context(), "the end of the agent", func() bool { return !slices.ContainsFunc(pids[:4], there) }))
			t.Logf("the agent and its tools ended after %v", time.Since(began))
			if !there(pids[4]) {
				t.Error("the tool of another bridge was ended")
			}
		})
	}
}

// A CLI that is swept shortly after its bridge was killed still writes its prompt into the transcript.
func TestASweepLetsTheTranscriptBeWritten(t *testing.T) {
	r := newRig(t, func(c *claude.Config) { c.Instance = uuid.NewString() })
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Hang()}})
	j := job{Spec: withDir(fresh(), r.cfg.Project), Prompt: uuid.NewString()}
	p := r.program(j)
	if err := r.model.Await(t.Context(), func(list []modelsim.Request) bool { return len(list) > 0 }); err != nil {
		t.Fatal(err)
	}
	_ = p.Process.Kill()
	_ = p.Wait()
	if n, err := proctree.Sweep(t.Context(), r.cfg.Instance, nil); n < 1 || err != nil {
		t.Errorf("%d processes ended: %v", n, err)
	}
	got, err := r.cfg.Transcripts("").ReadOutcome(r.cfg.Project, j.Spec.Session, j.Prompt)
	if err != nil || !got.Known || got.Acted || got.Ended {
		t.Errorf("recalled %+v %v", got, err)
	}
}

// An agent finishes its turn although its bridge was killed and nobody reads its output.
func TestAnAgentFinishesAlone(t *testing.T) {
	agents(t, func(t *testing.T, command string) {
		r, rest := newRig(t, withCLI(command), func(c *claude.Config) { c.Instance = uuid.NewString() }), make(chan struct{})
		r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{
			modelsim.Text("first "), modelsim.Hold(rest), modelsim.Text("and last"),
		}})
		got := r.killed(func(Program) {
			must(t, r.model.Await(t.Context(), func(list []modelsim.Request) bool { return len(list) > 0 }))
		}, func() { close(rest) })
		if got.Text != "first and last" || !got.Ended || got.Failure != "" {
			t.Errorf("recalled %+v", got)
		}
	})
}

// An agent whose bridge was killed learns that nobody can be asked, about a pending question as well as later ones. It
// continues without, which does not count as its answer.
func TestAnAgentAsksAlone(t *testing.T) {
	agents(t, func(t *testing.T, command string) {
		r := newRig(t, withCLI(command), func(c *claude.Config) { c.Instance = uuid.NewString() })
		touch := func(file string) modelsim.Step {
			return modelsim.Tool("Bash", map[string]any{"command": "touch " + file, "description": "touch"})
		}
		r.model.Script(
			modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("first"), touch("a")}},
			modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("again"), touch("b")}},
			modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("not possible")}},
		)
		got := r.killed(func(p Program) { p.await(t, "asks") }, func() {})
		if got.Text != "first" || !got.Acted || got.Ended || got.Failure != "" {
			t.Errorf("recalled %+v", got)
		}
		list := r.model.Requests()
		if len(list) != 3 {
			t.Errorf("%d requests", len(list))
		}
		for i, q := range list[1:] {
			why := []string{"Tool permission stream closed before response received", "Stream closed"}[i]
			got := q.Messages[len(q.Messages)-1].Text // AbortError, or Error in the oldest version
			if !strings.Contains(got, "Tool permission request failed: ") || !strings.Contains(got, "Error: "+why) {
				t.Errorf("the agent is told %q", got)
			}
		}
		if files, err := os.ReadDir(r.cfg.Project); len(files) > 0 || err != nil {
			t.Errorf("the project holds %v: %v", files, err)
		}
	})
}

// killed kills a bridge during a turn, calls then, and returns the outcome in the transcript once the agent has ended.
func (r *rig) killed(during func(Program), then func()) claude.Outcome {
	r.Helper()
	j := job{Spec: withDir(fresh(), r.cfg.Project), Prompt: uuid.NewString()}
	j.Spec.Mode = "default"
	p := r.program(j)
	during(p)
	_ = p.Process.Kill()
	_ = p.Wait()
	then()
	must(r.T, poll(r.Context(), "the end of the agent", func() bool { return !runs(r.cfg.Instance) }))
	got, err := r.cfg.Transcripts("").ReadOutcome(r.cfg.Project, j.Spec.Session, j.Prompt)
	must(r.T, err)
	return got
}

func TestASweepNeedsAnInstance(t *testing.T) {
	if _, err := proctree.Sweep(t.Context(), "", nil); err == nil {
		t.Error("nobody's processes were swept")
	}
}

// A sweeping program may itself have been started by an agent that it must sweep.
func TestASweepSparesItsOwnProgram(t *testing.T) {
	r := newRig(t, func(c *claude.Config) { c.Instance = uuid.NewString() })
	mark := "MAGPIE_PROCESS=" + r.cfg.Instance + "/old"
	left := exec.Command("sleep", "300")
	left.Env = []string{mark}
	if err := left.Start(); err != nil {
		t.Fatal(err)
	}
	p := r.program(job{Sweep: true}, mark)
	p.await(t, "swept 1")
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
	if err := left.Wait(); err == nil {
		t.Error("what was left behind ended by itself")
	}
}

func TestASweepSparesOtherUsers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to start a process of another user")
	}
	t.Parallel()
	instance := uuid.NewString()
	other := exec.Command("sleep", "300")
	other.Env = []string{"MAGPIE_PROCESS=" + instance + "/x"}
	other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	}()
	if n, err := proctree.Sweep(t.Context(), instance, nil); n != 0 || err != nil {
		t.Errorf("%d processes ended: %v", n, err)
	}
	if !there(strconv.Itoa(other.Process.Pid)) {
		t.Error("the other user's process was ended")
	}
}

// A closed pool leaves no process behind, not even one that cleared its environment and left its parent and its
// session. Zombies are reaped.
func TestAClosedPoolLeavesNothingBehind(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pids")
	must(t, os.WriteFile(file, nil, 0o600)) // exists before the first process writes to it
	r := newRig(t, func(c *claude.Config) { c.AllowedTools = []string{"Bash"} })
	hidden := "env -i setsid sh -c 'echo $$ >> " + file + "; exec sleep 300' >/dev/null 2>&1"
	r.model.Script(tool(leaves(file)+"; ("+hidden+" &); true"), modelsim.Rule{Times: 1, Steps: []modelsim.Step{
		modelsim.Tool("Bash", map[string]any{
			"command": "while [ $(wc -l < " + file + ") -lt 4 ]; do sleep 0.05; done", "description": "wait",
		}),
	}})
	p := r.program(job{Spec: withDir(fresh(), r.cfg.Project), Prompt: uuid.NewString(), Adopt: true})
	p.await(t, "closed")
	data, err := os.ReadFile(file)
	pids := strings.Fields(string(data))
	if err != nil || len(pids) != 4 {
		t.Fatalf("pids %v, %v", pids, err)
	}
	if err := poll(t.Context(), "the end of the tools", func() bool {
		for _, pid := range pids {
			if _, err := os.Stat("/proc/" + pid); err == nil {
				return false // a zombie counts as left behind
			}
		}
		return true
	}); err != nil {
		t.Error(err)
	}
	if err := poll(t.Context(), "the burial of the last child",
		func() bool { return len(childrenOf(p.Process.Pid)) == 0 }); err != nil {
		t.Errorf("%v: %v", err, childrenOf(p.Process.Pid))
	}
	if err := p.input.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
}

// childrenOf lists the children of a process, including zombies.
func childrenOf(pid int) []string {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	var list []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(data), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			list = append(list, string(data))
		}
	}
	return list
}
