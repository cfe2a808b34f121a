package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"magpie/internal/feishusim"
	"magpie/internal/operator/config"
)

// built is the program's binary, with the steps at which crash tests kill it.
var built struct {
	sync.Once
	path string
	err  error
}

// binary builds the program, once.
func binary(t testing.TB) string {
	t.Helper()
	built.Do(func() {
		var dir string
		if dir, built.err = os.MkdirTemp("", "magpie-test-"); built.err != nil {
			return
		}
		built.path = filepath.Join(dir, "magpie")
		// Unlike "go build", "go run" caches the linked program: unless it has changed, cp copies the cached one.
		build := exec.Command("go", "run", "-tags", "crashtest,sqlite_fts5", "-exec", "cp", ".", built.path)
		out, err := build.CombinedOutput()
		if err != nil {
			built.err = fmt.Errorf("go run: %w: %s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.path != "" {
		_ = os.RemoveAll(filepath.Dir(built.path)) // a leftover temporary folder does no harm
	}
	os.Exit(code)
}

// service is the program as a separate process, in a rig.
type service struct {
	*rig
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
	past int           // websocket connections of earlier processes
}

func (s *service) pid() int { return s.cmd.Process.Pid }

func newService(t testing.TB, platform feishusim.Config, change ...func(*config.Config)) *service {
	t.Helper()
	s := &service{rig: makeRig(t, platform, change...)}
	t.Cleanup(func() {
		if s.cmd != nil {
			s.kill()
		}
	})
	return s
}

// run starts the process; vars are added to its environment.
func (s *service) run(vars ...string) {
	s.Helper()
	c := s.cfg
	s.past = s.sim.Connected() // earlier connections may still count as open
	s.cmd = exec.Command(binary(s), "serve")
	s.cmd.Dir = s.TempDir()
	s.cmd.Env = append(vars, c.Claude.Environ...)
	for name, value := range map[string]string{
		"FEISHU_APP_ID": c.Feishu.AppID, "FEISHU_APP_SECRET": c.Feishu.AppSecret, "FEISHU_BASE_URL": c.Feishu.BaseURL,
		"CHAT_NOTIFY_AFTER": c.Chat.NotifyAfter.String(),
		"CLAUDE_COMMAND":    c.Claude.Command, "CLAUDE_PROJECT": c.Claude.Project,
		"CLAUDE_ALLOWED_TOOLS": strings.Join(c.Claude.AllowedTools, ","),
		"CLAUDE_KEEP_ALIVE":    c.Claude.KeepAlive.String(),
		"CLAUDE_MAX_PROCESSES": fmt.Sprint(c.Claude.MaxProcesses),
		"CLAUDE_SPARE":         fmt.Sprint(c.Claude.Spare), "CLAUDE_SUGGESTIONS": fmt.Sprint(c.Claude.Suggestions),
		"CONTEXT_TITLES": fmt.Sprint(c.Context.Titles), "CONTEXT_KEEP_RECENT": fmt.Sprint(c.Context.KeepRecent),
		"TEST_PACE": fmt.Sprint(c.Feishu.Pace), "TEST_NAME_WAIT": c.Feishu.NameWait.String(),
		"TEST_ACK_WAIT": c.Feishu.AckTimeout.String(), "DB_URL": c.DB.URL, "DATA": filepath.Dir(databaseOf(c)), "ACCESS_ALLOW": "*",
		"SHUTDOWN_TIMEOUT": c.Shutdown.String(), "HTTP_LISTEN": c.HTTP.Listen,
	} {
		s.cmd.Env = append(s.cmd.Env, config.EnvPrefix+name+"="+value)
	}
	for _, a := range c.Apps {
		file := fmt.Sprintf("[[feishu]]\nname = %q\napp_id = %q\napp_secret = %q\nbase_url = %q\n[feishu.access]\nallow = [\"*\"]\n",
			a.Name, a.AppID, a.AppSecret, a.BaseURL)
		must(s, os.WriteFile(filepath.Join(s.cmd.Dir, "magpie.toml"), []byte(file), 0o600))
	}
	var env []string
	for name, value := range c.Claude.Env {
		env = append(env, name+"="+value)
	}
	s.cmd.Env = append(s.cmd.Env, config.EnvPrefix+"CLAUDE_ENV="+strings.Join(env, ","))
	s.cmd.Stderr, s.cmd.Stdout = s.logs, s.logs
	must(s, s.cmd.Start())
	done := make(chan struct{})
	s.done = done
	go func(c *exec.Cmd) { _ = c.Wait(); close(done) }(s.cmd)
}

// connected waits until the process is connected to the platform.
func (s *service) connected() {
	s.Helper()
	s.await("a connection", func(v *feishusim.View) bool { return v.Connected() > s.past })
}

// kill ends the process like a power failure.
func (s *service) kill() {
	_ = s.cmd.Process.Kill()
	<-s.done
}

// terminate asks the process to end, and returns how long that took.
func (s *service) terminate() time.Duration {
	s.Helper()
	began := time.Now()
	must(s, s.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-s.done:
	case <-time.After(patience):
		s.Fatalf("the service does not end: %s", s.logs)
	}
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		s.Errorf("exit code %d: %s", code, s.logs)
	}
	return time.Since(began)
}

// died waits until the process has killed itself.
func (s *service) died(within time.Duration) bool {
	select {
	case <-s.done:
		st, ok := s.cmd.ProcessState.Sys().(syscall.WaitStatus)
		return ok && st.Signaled() && st.Signal() == syscall.SIGKILL
	case <-time.After(within):
		return false
	}
}

// agents lists the processes that work in the rig's project, and their descendants.
func (s *service) agents() []string {
	var list []string
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		env, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(env, []byte("MAGPIE_PROCESS=")) ||
			!bytes.Contains(env, []byte("HOME="+s.home())) || bytes.Contains(env, []byte("/magpie-start-")) {
			continue // or it is the CLI that the service tries at its start
		}
		stat, err := os.ReadFile(filepath.Join(filepath.Dir(file), "stat"))
		if _, state, ok := bytes.Cut(stat, []byte(") ")); err != nil || !ok || state[0] == 'Z' {
			continue
		}
		args, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		args = bytes.ReplaceAll(args, []byte{0}, []byte(" "))
		list = append(list, filepath.Base(filepath.Dir(file))+" "+string(args))
	}
	return list
}

// home is the agent's home folder.
func (r *rig) home() string {
	for _, kv := range r.cfg.Claude.Environ {
		if home, ok := strings.CutPrefix(kv, "HOME="); ok {
			return home
		}
	}
	r.Fatal("no HOME")
	return ""
}

// awaitNoAgents waits until no agent runs.
func (s *service) awaitNoAgents(within time.Duration) {
	s.Helper()
	s.within(within, "the end of all agents", func() bool { return len(s.agents()) == 0 })
}
