package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"magpie/internal/feishusim"
)

// spyOn is the variable with a process id: the test binary, started with it, tries to read that process, and prints the
// result as JSON.
const spyOn = "MAGPIE_TEST_SPY_ON"

func init() {
	if pid, err := strconv.Atoi(os.Getenv(spyOn)); err == nil {
		_ = json.NewEncoder(os.Stdout).Encode(probe(pid))
		os.Exit(0)
	}
}

// procAccess is what a process can read of another.
type procAccess struct {
	Environ, Mem, Maps, Files, Read, Traced bool
	Secret                                  bool // the environment shows it
}

func probe(pid int) (got procAccess) {
	proc := func(name string) string { return fmt.Sprintf("/proc/%d/%s", pid, name) }
	env, err := os.ReadFile(proc("environ"))
	got.Environ, got.Secret = err == nil, strings.Contains(string(env), "canary")
	if maps, err := os.ReadFile(proc("maps")); err == nil && len(maps) > 0 {
		got.Maps = true
		start, _, _ := strings.Cut(string(maps), "-")
		addr, _ := strconv.ParseUint(start, 16, 64)
		buf := make([]byte, 16)
		to, from := unix.Iovec{Base: &buf[0], Len: 16}, unix.RemoteIovec{Base: uintptr(addr), Len: 16}
		n, err := unix.ProcessVMReadv(pid, []unix.Iovec{to}, []unix.RemoteIovec{from}, 0)
		got.Read = err == nil && n == 16
	} else {
		buf := make([]byte, 16)
		to, from := unix.Iovec{Base: &buf[0], Len: 16}, unix.RemoteIovec{Base: 0x400000, Len: 16}
		_, err := unix.ProcessVMReadv(pid, []unix.Iovec{to}, []unix.RemoteIovec{from}, 0)
		got.Read = !errors.Is(err, unix.EPERM)
	}
	if f, err := os.Open(proc("mem")); err == nil {
		got.Mem = true
		_ = f.Close()
	}
	_, err = os.ReadDir(proc("fd"))
	got.Files = err == nil
	got.Traced = unix.PtraceSeize(pid) == nil // detached when the spy ends
	return got
}

// strangerID is a user of this machine other than the test's own.
const strangerID = 65534

// probeAsStranger starts the test binary as a spy of that user.
func probeAsStranger(t *testing.T, dir string, pid int) (got procAccess) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "spy"))
	cmd.Env = []string{spyOn + "=" + strconv.Itoa(pid)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: strangerID, Gid: strangerID}}
	out, err := cmd.Output()
	must(t, err)
	must(t, json.Unmarshal(out, &got))
	return got
}

// common is a folder that every user may enter, with programs in it.
func common(t *testing.T, programs map[string]string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can run programs as other users")
	}
	dir := outsideTmp(t)
	must(t, os.Chmod(dir, 0o755))
	for name, source := range programs {
		copyProgram(t, source, filepath.Join(dir, name))
		must(t, os.Chmod(filepath.Join(dir, name), 0o755))
	}
	return dir
}

// Another process of the same user can read neither the memory nor the environment of the program, nor trace it. The
// program works normally: it answers, ends leftover processes of its agent, reloads its configuration, and serves its
// metrics.
func TestAttackTheProgram(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	must(t, err)
	dir := common(t, map[string]string{"magpie": binary(t), "spy": self})
	s := &service{rig: makeRig(t, feishusim.Config{}, realCLI(t), withPages)}
	home := filepath.Join(dir, "home")
	work := filepath.Join(home, "work")
	must(t, os.MkdirAll(work, 0o700))
	as := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: strangerID, Gid: strangerID}}

	open := exec.CommandContext(t.Context(), "sleep", "600")
	open.Env, open.SysProcAttr = []string{"MAGPIE_FEISHU_APP_SECRET=canary"}, as
	must(t, open.Start())
	t.Cleanup(func() { _, _ = open.Process.Kill(), open.Wait() })
	s.until("a process that its user can read", func() bool {
		return probeAsStranger(t, dir, open.Process.Pid).Secret
	})
	if got := probeAsStranger(t, dir, open.Process.Pid); got != (procAccess{true, true, true, true, true, true, true}) {
		t.Errorf("the spy does not work: %+v", got)
	}

	must(t, errors.Join(os.Chown(home, strangerID, strangerID), os.Chown(work, strangerID, strangerID)))
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), filepath.Join(dir, "magpie"), "serve")
	cmd.Dir, cmd.SysProcAttr = home, as
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GOTRACEBACK=crash", "ANTHROPIC_API_KEY=sk-canary",
		"MAGPIE_FEISHU_APP_ID=" + s.sim.AppID(), "MAGPIE_FEISHU_APP_SECRET=" + s.sim.AppSecret(),
		"MAGPIE_FEISHU_BASE_URL=" + s.sim.URL(),
		"MAGPIE_CLAUDE_COMMAND=" + s.cfg.Claude.Command, "MAGPIE_CLAUDE_PROJECT=" + work,
		"MAGPIE_DB_URL=sqlite://" + filepath.Join(home, "data/magpie.db"),
		"MAGPIE_ACCESS_ALLOW=*", "MAGPIE_HTTP_LISTEN=:0", "MAGPIE_CONTEXT_TITLES=false", "MAGPIE_CLAUDE_KEEP_ALIVE=0s",
		"MAGPIE_CLAUDE_SPARE=0", // it is killed, and its children may still write to its folder
		"MAGPIE_CLAUDE_ENV=ANTHROPIC_BASE_URL=" + s.model.URL() + ",ANTHROPIC_API_KEY=sk-test-dummy",
	}
	p := startProcess(t, cmd)
	p.await("magpie is running")
	s.await("a connection", func(v *feishusim.View) bool { return v.Connections() > 0 })
	if got := probeAsStranger(t, dir, cmd.Process.Pid); got != (procAccess{}) {
		t.Errorf("the spy had access: %+v", got)
	}
	shown, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", cmd.Process.Pid)) // root may read it
	must(t, err)
	if strings.Contains(string(shown), s.sim.AppSecret()) || strings.Contains(string(shown), "sk-") ||
		!strings.Contains(string(shown), "HOME="+home) {
		t.Errorf("the environment is visible: %q", shown)
	}
	if got := s.ask("我叫小明"); got != "好的，小明，我记住了。" {
		t.Errorf("answer %q", got)
	}
	p.signal(syscall.SIGHUP)
	p.await("configuration reloaded")
	if got := s.ask("我叫什么名字？"); got != "你叫小明。" {
		t.Errorf("after a reload: answer %q", got)
	}
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", cmd.Process.Pid))
	if err != nil || !regexp.MustCompile(`Max core file size +0 `).Match(limits) {
		t.Errorf("it may dump core: %v\n%s", err, limits)
	}
	const script = `prlimit --pid "$1" --core="$(ulimit -H -c):"`
	raise := exec.CommandContext(t.Context(), "sh", "-c", script, "sh", strconv.Itoa(cmd.Process.Pid))
	raise.SysProcAttr = as
	if out, err := raise.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	p.signal(syscall.SIGQUIT) // on which Go crashes and dumps core
	err = <-p.done
	p.done = nil
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		t.Fatalf("it ended with %v", err)
	}
	if st := exit.Sys().(syscall.WaitStatus); !st.Signaled() || st.CoreDump() {
		t.Errorf("it ended with %+v", st)
	}
	s.clean()
}
