package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"magpie/internal/feishusim"
	"magpie/internal/operator/config"
)

// serviceSetupRig is a setupRig with a fake systemd, and flags that answer every question except how to start.
type serviceSetupRig struct {
	*setupRig
	systemd *fakeSystemd
	args    []string
}

func newServiceSetupRig(t testing.TB, env ...string) *serviceSetupRig {
	t.Helper()
	n := newSetupRig(t, append(env, "SUDO_USER=root")...)
	n.sim.SetOwner(n.sim.AddUser("小明"))
	secret := filepath.Join(n.home, "secret")
	must(t, os.WriteFile(secret, []byte(n.sim.AppSecret()), 0o600))
	s := &serviceSetupRig{setupRig: n, systemd: fakeSystemdIn(t, n.home)}
	s.env = append(s.env, "PATH="+filepath.Join(n.home, "bin")+":"+os.Getenv("PATH"))
	s.args = []string{
		"--app-id=" + n.sim.AppID(), "--app-secret-file=" + secret, "--project=" + filepath.Join(n.home, "work"),
	}
	return s
}

// run runs setup without questions, and returns the exit code.
func (s *serviceSetupRig) run(more ...string) (out string, code int) {
	s.Helper()
	cmd := s.command(append(append(s.args, "--yes"), more...)...)
	data, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.Fatal(err)
	}
	return string(data), cmd.ProcessState.ExitCode()
}

// answerAsService runs the command of the unit file, which the fake systemd does not, and lets it answer the owner.
func (s *serviceSetupRig) answerAsService() {
	s.Helper()
	path, _ := s.unit()
	unit, err := os.ReadFile(path)
	must(s, err)
	_, command, _ := strings.Cut(string(unit), "\nExecStart=")
	command, _, _ = strings.Cut(command, "\n")
	words := strings.Fields(command)
	serve := exec.CommandContext(context.Background(), words[0], words[1:]...)
	serve.Env = append([]string{"HOME=" + s.home, "LANG=C.UTF-8"}, s.env...)
	must(s, serve.Start())
	s.Cleanup(func() {
		_ = serve.Process.Signal(syscall.SIGTERM)
		if err := serve.Wait(); err != nil {
			s.Errorf("the service: %v", err)
		}
	})
	owner := s.sim.Users()[0]
	r := &rig{TB: s, sim: s.sim, logs: &logbook{tb: s}, user: owner, chat: s.sim.PrivateChat(owner)}
	r.await("a connection", func(v *feishusim.View) bool { return v.Connections() > 0 })
	if got := r.ask("你好"); !strings.Contains(got, "你好") {
		s.Errorf("the first answer is %q", got)
	}
}

// unit is the path of the service's unit file, and the flag of systemctl for its scope.
func (s *serviceSetupRig) unit() (path, flag string) {
	root := filepath.Join(s.home, "root")
	if os.Geteuid() == 0 {
		return filepath.Join(root, "etc/systemd/system/magpie.service"), ""
	}
	return filepath.Join(root, s.home, ".config/systemd/user/magpie.service"), "--user "
}

// ordered checks the calls of systemctl.
func (s *serviceSetupRig) ordered(want ...string) {
	s.Helper()
	_, flag := s.unit()
	for i := range want {
		want[i] = flag + want[i]
	}
	if got := s.systemd.orders(); got != strings.Join(want, ", ") {
		s.Errorf("systemctl was called with %q", got)
	}
}

func TestSetupInstallsTheService(t *testing.T) {
	t.Parallel()
	s := newServiceSetupRig(t)
	out, code := s.run("--start=service")
	if code != 0 || !strings.Contains(out, "magpie is enabled and started") || !strings.Contains(out, "journalctl") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	s.ordered("daemon-reload", "enable magpie", "restart magpie")
	path, _ := s.unit()
	unit, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(unit), "serve --config "+s.config()+"\n") {
		t.Errorf("the unit file: %v\n%s", err, unit)
	}
	if out, code := s.run("--start=service", "--replace"); code != 0 {
		t.Errorf("the second time, exit code %d:\n%s", code, out)
	}
	s.ordered("daemon-reload", "enable magpie", "restart magpie") // it runs, and must read the new configuration

	must(t, os.WriteFile(path, append(unit, "# mine\n"...), 0o644))
	out, code = s.run("--start=service", "--replace")
	if code != 1 || !strings.Contains(out, "the service could not be installed: "+path+" was edited") {
		t.Errorf("an edited unit, exit code %d:\n%s", code, out)
	}
	s.ordered()
}

// With systemd, setup proposes the service. Other choices do not touch systemd.
func TestSetupAsksHowToStart(t *testing.T) {
	t.Parallel()
	for choice, tc := range map[string]struct {
		says    string
		ordered []string
	}{
		"":  {"magpie is enabled and started", []string{"daemon-reload", "enable magpie", "restart magpie"}},
		"1": {"magpie is enabled and started", []string{"daemon-reload", "enable magpie", "restart magpie"}},
		"3": {"Start it with: magpie serve --config", nil},
	} {
		t.Run("choice "+choice, func(t *testing.T) {
			t.Parallel()
			s := newServiceSetupRig(t)
			term := openTerminal(t, s.command(s.args...))
			term.await("4. How should it run?")
			term.await("1. as a service that starts automatically")
			term.await("2. now, in this terminal")
			term.await("3. not yet")
			term.answer("Choose [1]: ", choice)
			term.await(tc.says)
			switch choice { // setup waits for the service's first answer until it is interrupted
			case "":
				term.await("Now open Feishu and send the bot a message")
				s.answerAsService()
				term.await("The bot has answered its first message. Setup is complete.")
			case "1":
				term.await("Now open Feishu and send the bot a message")
				_, err := term.tty.WriteString("\x03")
				must(t, err)
				term.await("Magpie keeps running.")
			}
			if code := term.exit(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			s.ordered(tc.ordered...)
		})
	}
}

// If systemd refuses, the configuration is kept, and the output says what failed and how to continue.
func TestSetupWithoutAService(t *testing.T) {
	t.Parallel()
	for order, want := range map[string]string{
		"daemon-reload": "systemctl daemon-reload", "enable": "systemctl enable magpie",
		"restart": "systemctl restart magpie",
	} {
		s := newServiceSetupRig(t, "LANG=zh_CN.UTF-8")
		s.systemd.systemctl(`case "$*" in *` + order + `*) echo "Failed to obey: Access denied" >&2; exit 4;; esac`)
		out, code := s.run("--start=service")
		_, flag := s.unit()
		want = strings.Replace(want, "systemctl ", "systemctl "+flag, 1)
		if code != 1 || !strings.Contains(out, "服务安装失败："+want+"：退出码 4：Failed to obey: Access denied") {
			t.Errorf("%s fails, exit code %d:\n%s", order, code, out)
		}
		if !strings.Contains(out, "启动：magpie serve --config "+s.config()) {
			t.Errorf("%s fails, without advice how to start:\n%s", order, out)
		}
		if _, err := config.Load(s.config(), nil); err != nil {
			t.Errorf("%s fails: %v", order, err)
		}
	}
	none := newServiceSetupRig(t)
	must(t, os.RemoveAll(filepath.Join(none.home, "root/run")))
	out, code := none.run("--start=service")
	if code != 1 || !strings.Contains(out, "the service could not be installed: this machine does not use systemd") ||
		!strings.Contains(out, "magpie serve --config "+none.config()) {
		t.Errorf("no systemd, exit code %d:\n%s", code, out)
	}
	none.ordered()
	out, code = none.run("--replace", "--start=ask")
	if code != 0 || !strings.Contains(out, "Start it with: magpie serve --config") {
		t.Errorf("with --start no, exit code %d:\n%s", code, out)
	}
	if out, code := none.run("--replace", "--start=soon"); code == 0 || !strings.Contains(out, "soon") {
		t.Errorf("an unknown way to start, exit code %d:\n%s", code, out)
	}
}
