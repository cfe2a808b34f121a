package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"magpie/internal/feishusim"
)

// machine is a bridge as a process of its own, with its own configuration and data.
type machine struct {
	testing.TB
	dir     string
	service *process
}

// newMachine writes the configuration of a bridge that shares a database. line comes first in it.
func newMachine(t *testing.T, sim *feishusim.Server, url, line string) *machine {
	t.Helper()
	m := &machine{TB: t, dir: t.TempDir()}
	writeService(t, m.dir, sim, "allow = [\"*\"]\n")
	inPostgres(t, m.dir, url)
	path := filepath.Join(m.dir, "magpie.toml")
	text, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, []byte(line+"\n"+string(text)), 0o600))
	return m
}

func (m *machine) command(args ...string) *exec.Cmd {
	cmd := magpie(m, m.dir, args...)
	cmd.Env = append(cmd.Env, "MAGPIE_TEST_PLACE_TTL="+(3*placeTTL).String(), "ANTHROPIC_API_KEY=sk-test-dummy")
	return cmd
}

// serve starts the bridge, and waits until it answers.
func (m *machine) serve() {
	m.Helper()
	m.service = startProcess(m, m.command("serve"))
	m.service.await("feishu: connected")
}

// kill ends the bridge without a chance to do anything.
func (m *machine) kill() {
	m.Helper()
	must(m, m.service.cmd.Process.Kill())
	<-m.service.done
	m.service.done = nil
}

// says runs a command that says something.
func (m *machine) says(want string, args ...string) {
	m.Helper()
	out, _ := m.command(args...).CombinedOutput() // its exit code is not what matters
	if !strings.Contains(string(out), want) {
		m.Errorf("%q does not say %q:\n%s", args, want, out)
	}
}

// agents are the processes of the bridge.
func (m *machine) agents() string {
	m.Helper()
	out, err := exec.CommandContext(m.Context(), "pgrep", "-P", fmt.Sprint(m.service.cmd.Process.Pid)).Output()
	must(m, err)
	return string(out)
}

// Two bridges share an app, a database and a machine. Each has a name, folders, a terminal and agents of its own.
func TestTwoBridgesOnOneMachine(t *testing.T) {
	t.Parallel()
	_, url := startPostgres(t)
	sim := startSim(t)
	a, b := newMachine(t, sim, url, `node = "a"`), newMachine(t, sim, url, `node = "b"`)
	a.serve()
	b.serve()
	for _, m := range []*machine{a, b} {
		m.says("你好", "chat", "你好")
		m.says("runs, also sends digests and sweeps", "nodes")
		m.says("database: bridges that use it: 2 (a, b)", "doctor")
		m.says("0 read", "history", "import", "/dev/null")
	}
	b.says("a bridge on another machine has the chat cli:chat:a", "chat", "--chat", "cli:chat:a", "你好")

	third := newMachine(t, sim, url, `node = "a"`)
	third.says("node: a bridge named a runs, but not with the data folder", "doctor")
	third.says("a bridge named a already uses this database: give each machine a name of its own", "serve")
	path := filepath.Join(third.dir, "magpie.toml")
	text, err := os.ReadFile(path)
	must(t, err)
	wrong := strings.NewReplacer(`data = "data"`, fmt.Sprintf("data = %q", filepath.Join(a.dir, "data")), `node = "a"`, `node = "c"`)
	must(t, os.WriteFile(path, []byte(wrong.Replace(string(text))), 0o600))
	third.says(fmt.Sprintf("is in use by process %d", a.service.cmd.Process.Pid), "serve")
	third.says("but no bridge named c runs with the database", "doctor")

	before := a.agents()
	b.kill()
	b.serve() // nobody waits for its place
	b.says("在吗", "chat", "在吗")
	if after := a.agents(); after != before {
		t.Errorf("the agents of the other bridge were %q, and are %q", before, after)
	}

	user := sim.AddUser("小明")
	r := &rig{TB: t, sim: sim, user: user, chat: sim.PrivateChat(user)}
	sim.DeliverTo(1)
	if got := r.ask("第一句"); !strings.Contains(got, "第一句") {
		t.Errorf("answer %q", got)
	}
	a.kill()
	sim.DeliverTo(0)
	if got := r.ask("第二句"); !strings.Contains(got, "第二句") {
		t.Errorf("answer %q", got)
	}
	a.serve()
	a.says("回来了", "chat", "回来了")
}
