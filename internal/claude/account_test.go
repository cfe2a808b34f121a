package claude_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
)

// Environment is the environment of a process according to the kernel, one variable a line.
func Environment(t *testing.T, p *claude.Process) []string {
	t.Helper()
	data, err := os.ReadFile("/proc/" + strconv.Itoa(p.Pid()) + "/environ")
	must(t, err)
	return strings.Split(string(data), "\x00")
}

func arguments(t *testing.T, p *claude.Process) string {
	t.Helper()
	data, err := os.ReadFile("/proc/" + strconv.Itoa(p.Pid()) + "/cmdline")
	must(t, err)
	return strings.ReplaceAll(string(data), "\x00", " ")
}

// without is a list of variables without one.
func without(environ []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
}

func TestAgentsRunAsAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		c := claudetest.ScriptedConfig(t)
		c.User = "nobody"
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "CAP_SETUID") {
			t.Errorf("refused with %v", err)
		}
		return
	}
	t.Parallel()
	dir, err := os.MkdirTemp("", "magpie-account-") // other users may enter it, unlike t.TempDir
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	cfg := claudetest.ScriptedConfig(t)
	command, home := filepath.Join(dir, "agent"), filepath.Join(dir, "home")
	must(t, exec.Command("cp", cfg.Command, command).Run())
	must(t, os.Mkdir(home, 0o700))
	must(t, os.Chown(home, 65534, 65534))
	cfg.Command, cfg.Project, cfg.User, cfg.Instance = command, home, "nobody", uuid.NewString()
	cfg.Environ = append(cfg.Environ, "MAGPIE_FEISHU_APP_SECRET=canary")
	cfg.Env["HOME"], cfg.Settings = home, `{"model": "opus"}`
	must(t, cfg.Validate())
	must(t, cfg.Prepare())
	pool := claude.NewPool(cfg)
	t.Cleanup(pool.Close)
	r := &rig{T: t, cfg: cfg, pool: pool}
	p := r.acquire("a", fresh())
	info, err := os.Stat("/proc/" + strconv.Itoa(p.Pid()))
	must(t, err)
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Uid != 65534 || st.Gid != 65534 {
		t.Errorf("the agent runs as %+v", info.Sys())
	}
	groups, err := os.ReadFile("/proc/" + strconv.Itoa(p.Pid()) + "/status")
	if err != nil || !strings.Contains(string(groups), "Groups:\t65534 \n") &&
		!strings.Contains(string(groups), "Groups:\t \n") {
		t.Errorf("it has supplementary groups: %v\n%s", err, groups)
	}
	env := strings.Join(Environment(t, p), "\n")
	for _, want := range []string{"HOME=" + home + "\n", "USER=nobody\n", "LOGNAME=nobody\n"} {
		if !strings.Contains(env, want) {
			t.Errorf("%q is missing in\n%s", want, env)
		}
	}
	if strings.Contains(env, "canary") || strings.Contains(env, "CLAUDE_CONFIG_DIR=") {
		t.Errorf("the program's own variables are in\n%s", env)
	}
	if _, a := r.ask(p, nil); a.err != nil || a.text() != "echo: go on" {
		t.Errorf("%q %v", a.text(), a.err)
	}
	pool.Release(p)
	info, err = os.Stat(filepath.Join(home, ".magpie", cfg.Instance, "settings.json"))
	must(t, err)
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Uid != 65534 || info.Mode().Perm() != 0o600 {
		t.Errorf("the settings are %v of %+v", info.Mode(), info.Sys())
	}
	if got, err := pool.RunErrand(t.Context(), sumUp); err != nil || got.Text == "" {
		t.Errorf("a question: %+v, %v", got, err)
	}
	codes := make(chan string, 1)
	if err := pool.LogIn(t.Context(), "a",
		claude.Dialog{Link: func(string) { codes <- "good#scripted" }, Codes: codes}); err != nil {
		t.Errorf("login: %v", err)
	}
	info, err = os.Stat(filepath.Join(home, "logged-in"))
	must(t, err)
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Uid != 65534 {
		t.Errorf("somebody else is logged in: %+v", info.Sys())
	}
	// Leftover processes are found although they run as another user.
	left := exec.Command("sleep", "300")
	left.Env = []string{"MAGPIE_PROCESS=" + cfg.Instance + "/x"}
	left.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	must(t, left.Start())
	pool.Close()
	if n, err := claude.Sweep(t.Context(), pool.Config()); n != 1 || err != nil {
		t.Errorf("%d processes ended: %v", n, err)
	}
	if err := left.Wait(); err == nil {
		t.Error("it exited on its own")
	}
}
