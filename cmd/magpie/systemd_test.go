package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"magpie/internal/claude/claudetest"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
)

// magpie is a command line of the program, run in dir.
func magpie(t testing.TB, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary(t), args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8"}
	return cmd
}

// writeService writes into dir the configuration of a service with the simulated platform and the scripted agent.
func writeService(t testing.TB, dir string, sim *feishusim.Server, more string) {
	t.Helper()
	project := filepath.Join(dir, "work")
	must(t, os.MkdirAll(project, 0o700))
	text := fmt.Sprintf(`[feishu]
app_id = %q
app_secret = %q
base_url = %q
[claude]
command = %q
project = %q
[db]
url = %q
[access]
owner = %q
%s`,
		sim.AppID(), sim.AppSecret(), sim.URL(), claudetest.Scripted(t), project,
		"sqlite://"+filepath.Join(dir, "data", "magpie.db"), sim.AddUser("Olga").OpenID, more)
	must(t, os.WriteFile(filepath.Join(dir, "magpie.toml"), []byte(text), 0o600))
}

// withModel is the end of such a configuration: a simulated model, and the user as an admin.
func withModel(user feishusim.User, model *modelsim.Server) string {
	return fmt.Sprintf(`admins = [%q]
[claude.env]
ANTHROPIC_BASE_URL = %q
ANTHROPIC_API_KEY = "sk-test-dummy"
`, user.OpenID, model.URL())
}

// process is a running program.
type process struct {
	testing.TB
	cmd  *exec.Cmd
	logs *logbook
	done chan error
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func startProcess(t testing.TB, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{t, cmd, &logbook{tb: t}, make(chan error, 1)}
	cmd.Stderr = p.logs
	must(t, cmd.Start())
	go func() { p.done <- cmd.Wait() }()
	t.Cleanup(func() {
		if p.done != nil {
			_ = cmd.Process.Kill()
			<-p.done
		}
		if t.Failed() {
			t.Logf("log of the program:\n%s", p.logs)
		}
	})
	return p
}

// await waits until the program has logged text.
func (p *process) await(text string) {
	p.Helper()
	p.awaitCount(text, 1)
}

// awaitCount waits until the program has logged text n times.
func (p *process) awaitCount(text string, n int) {
	p.Helper()
	if !p.logs.await(text, n) {
		p.Fatalf("the program did not log %q %d times", text, n)
	}
}

// signal sends a signal.
func (p *process) signal(s os.Signal) {
	p.Helper()
	must(p, p.cmd.Process.Signal(s))
}

// stop ends the program as a service manager does.
func (p *process) stop() {
	p.Helper()
	p.signal(syscall.SIGTERM)
	if err := <-p.done; err != nil {
		p.Errorf("the program ended with %v", err)
	}
	p.done = nil
}

func startSim(t testing.TB) *feishusim.Server {
	t.Helper()
	sim, err := feishusim.Start(feishusim.Config{AckTimeout: ackWait})
	must(t, err)
	t.Cleanup(func() { must(t, sim.Close()) })
	return sim
}

// notifySocket takes the place of systemd.
type notifySocket struct {
	testing.TB
	path     string
	received <-chan string
}

func listenNotify(t testing.TB) *notifySocket {
	t.Helper()
	dir, err := os.MkdirTemp("", "notify") // the path of a socket is limited to 107 bytes
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	path := filepath.Join(dir, "s")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	must(t, err)
	received, read := make(chan string, 10_000), make(chan struct{})
	go func() { // always: a writer blocks when about ten messages are unread
		defer close(read)
		for buf := make([]byte, 4096); ; {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			received <- string(buf[:n])
		}
	}()
	t.Cleanup(func() { _ = conn.Close(); <-read })
	return &notifySocket{t, path, received}
}

// await reads messages until one contains want, and returns it.
func (n *notifySocket) await(want string) string {
	n.Helper()
	var received []string
	for late := time.After(patience); ; {
		select {
		case got := <-n.received:
			if received = append(received, got); strings.Contains(got, want) {
				return got
			}
		case <-late:
			n.Fatalf("waiting for %q, received %q", want, received)
		}
	}
}

// systemd is notified that the service is ready while the platform is down, of the state of the connection, that it is
// alive, and that it stops.
func TestAServiceOfSystemd(t *testing.T) {
	t.Parallel()
	sim, socket := startSim(t), listenNotify(t)
	sim.RefuseEndpoint(1, "busy")
	dir := t.TempDir()
	writeService(t, dir, sim, "")
	cmd := magpie(t, dir, "serve")
	cmd.Env = append(cmd.Env, "NOTIFY_SOCKET="+socket.path, "WATCHDOG_USEC=1000000")
	p := startProcess(t, cmd)
	socket.await("READY=1")
	if got := socket.await("STATUS=not connected to the platform"); !strings.Contains(got, "busy") {
		t.Errorf("status %q", got)
	}
	sim.RefuseEndpoint(0, "")
	socket.await("STATUS=connected to the platform since ")
	socket.await("WATCHDOG=1")
	socket.await("WATCHDOG=1")
	p.signal(syscall.SIGTERM)
	socket.await("STOPPING=1")
	if err := <-p.done; err != nil {
		t.Errorf("the program ended with %v", err)
	}
	p.done = nil
}

// fakeSystemd is a folder in place of /, with a systemctl that records its calls.
type fakeSystemd struct {
	testing.TB
	dir string // working folder, with root and bin
}

// newFakeSystemd is one beside a magpie.toml.
func newFakeSystemd(t testing.TB) *fakeSystemd {
	t.Helper()
	f := fakeSystemdIn(t, t.TempDir())
	must(t, os.WriteFile(filepath.Join(f.dir, "magpie.toml"), []byte(`[claude]
project = "/srv/my work"
[db]
url = "sqlite:///srv/data/m.db"
[projects]
web = "/home/web"
api = { path = "/srv/api" }
`), 0o600))
	return f
}

func fakeSystemdIn(t testing.TB, dir string) *fakeSystemd {
	t.Helper()
	f := &fakeSystemd{t, dir}
	must(t, os.MkdirAll(filepath.Join(f.dir, "root/run/systemd/system"), 0o755))
	must(t, os.MkdirAll(filepath.Join(f.dir, "bin"), 0o755))
	f.systemctl(`echo "$*" >>"$HOME/orders"`)
	return f
}

// systemctl sets the script of the fake one, whose version is 257.
func (f *fakeSystemd) systemctl(script string) {
	f.Helper()
	text := "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'systemd 257 (257.9-1)'; exit; fi\n" + script + "\n"
	syscall.ForkLock.RLock() // a program cannot be run while a child still has it open for writing
	defer syscall.ForkLock.RUnlock()
	must(f, os.WriteFile(filepath.Join(f.dir, "bin/systemctl"), []byte(text), 0o755))
}

// run runs magpie service with args.
func (f *fakeSystemd) run(args ...string) (string, error) {
	f.Helper()
	cmd := magpie(f, f.dir, append([]string{"service"}, append(args, "--root", filepath.Join(f.dir, "root"))...)...)
	cmd.Env = append(cmd.Env, "PATH="+filepath.Join(f.dir, "bin")+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// orders are the calls of systemctl since the last call.
func (f *fakeSystemd) orders() string {
	f.Helper()
	path := filepath.Join(f.dir, "orders")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	must(f, err)
	must(f, os.Remove(path))
	return strings.ReplaceAll(strings.TrimSpace(string(data)), "\n", ", ")
}

func TestServiceIsInstalledAndRemoved(t *testing.T) {
	t.Parallel()
	for scope, tc := range map[string]struct{ flag, path string }{
		"system": {"", "root/etc/systemd/system/feishu.service"},
		"user":   {"--user ", ".config/systemd/user/feishu.service"},
	} {
		t.Run(scope, func(t *testing.T) {
			t.Parallel()
			f := newFakeSystemd(t)
			path := filepath.Join(f.dir, tc.path)
			if scope == "user" {
				path = filepath.Join(f.dir, "root", f.dir, tc.path)
			}
			ok := func(orders string, args ...string) string {
				t.Helper()
				out, err := f.run(append(args, "--scope", scope, "--name", "feishu")...)
				if err != nil {
					t.Fatalf("%v: %v: %s", args, err, out)
				}
				if got := f.orders(); got != strings.ReplaceAll(orders, "FLAG ", tc.flag) {
					t.Errorf("%v: systemctl was called with %q", args, got)
				}
				return out
			}
			install := []string{"install"}
			if scope == "system" {
				install = append(install, "--user", "root")
			}
			printed := ok("", append(install, "--dry-run")...)
			printed = printed[strings.Index(printed, "# Written by"):] // after the line about the agents' user
			if _, err := os.Stat(path); err == nil {
				t.Error("--dry-run writes the unit")
			}
			ok("FLAG daemon-reload, FLAG enable feishu, FLAG restart feishu", install...)
			written, err := os.ReadFile(path)
			must(t, err)
			if string(written) != printed {
				t.Errorf("--dry-run printed\n%s\nand this was written:\n%s", printed, written)
			}
			for _, want := range []string{
				binary(t) + " serve --config " + f.dir + "/magpie.toml\n", "RestartSteps=6\n",
				"EnvironmentFile=-" + f.dir + "/environment\n",
			} {
				if !strings.Contains(printed, want) {
					t.Errorf("the unit lacks %q:\n%s", want, printed)
				}
			}
			const writable = "ReadWritePaths=\"-/srv/my work\"\nReadWritePaths=-/srv/api\n" +
				"ReadWritePaths=-/home/web\nReadWritePaths=-/srv/data\n"
			if scope == "system" && !strings.Contains(printed, writable) {
				t.Errorf("the unit cannot write to the projects and the database:\n%s", printed)
			}
			// nothing has changed: no restart
			ok("FLAG daemon-reload, FLAG enable feishu, FLAG start feishu", install...)
			ok("FLAG status --no-pager --lines=10 feishu", "status")

			must(t, os.WriteFile(path, []byte(strings.Replace(printed, "RestartSec=2", "RestartSec=9", 1)), 0o644))
			for _, args := range [][]string{install, {"uninstall"}} {
				out, err := f.run(append(args, "--scope", scope, "--name", "feishu")...)
				if err == nil || !strings.Contains(out, "--force") {
					t.Errorf("%v of an edited unit: %v %s", args, err, out)
				}
			}
			if got := f.orders(); got != "" {
				t.Errorf("an edited unit is refused, and systemctl is called with %q", got)
			}
			ok("FLAG daemon-reload, FLAG enable feishu, FLAG restart feishu", append(install, "--force")...)
			ok("FLAG disable --now feishu, FLAG daemon-reload", "uninstall")
			if _, err := os.Stat(path); err == nil {
				t.Error("the unit is still there")
			}
			if out := ok("", "uninstall"); !strings.Contains(out, "nothing to do") {
				t.Errorf("the second time: %s", out)
			}
		})
	}
}

func TestServiceUserMustReadTheConfiguration(t *testing.T) {
	t.Parallel()
	other, err := user.Lookup("nobody")
	if err != nil || os.Getuid() != 0 {
		t.Skip("needs a second user, and root to give files away")
	}
	uid, err := strconv.Atoi(other.Uid)
	must(t, err)
	f := newFakeSystemd(t)
	const warning = "warning: nobody cannot read "
	config := filepath.Join(f.dir, "magpie.toml")
	for _, step := range []struct {
		change func() error
		warns  bool
	}{
		{func() error { return nil }, true}, // owned by root, mode 600
		{func() error { return os.Chown(config, uid, 0) }, false},
		{func() error { return os.Chmod(config, 0o060) }, true},
		{func() error { return os.Chmod(config, 0o604) }, false},
	} {
		must(t, step.change())
		out, err := f.run("install", "--scope", "system", "--user", "nobody", "--dry-run")
		if err != nil || strings.Contains(out, warning) != step.warns || !strings.Contains(out, "User=nobody\n") {
			t.Errorf("%v: %s", err, out)
		}
	}
}

// The unit can be printed before its user exists.
func TestADryRunNeedsNoUser(t *testing.T) {
	t.Parallel()
	f := newFakeSystemd(t)
	out, err := f.run("install", "--scope", "system", "--user", "nobody-here", "--dry-run")
	if err != nil || !strings.Contains(out, "warning: there is no user nobody-here: create it (useradd --system") ||
		!strings.Contains(out, "\nUser=nobody-here\n") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestServiceMistakesAreExplained(t *testing.T) {
	t.Parallel()
	install := []string{"install", "--scope", "system", "--user", "root"}
	for name, tc := range map[string]struct {
		spoil func(*fakeSystemd)
		args  []string
		want  string
	}{
		"no systemd": {
			func(f *fakeSystemd) { must(f, os.RemoveAll(filepath.Join(f.dir, "root/run"))) }, install,
			"ecosystem.config.js",
		},
		"systemctl fails": {
			func(f *fakeSystemd) { f.systemctl("echo access denied >&2; exit 4") }, install,
			"daemon-reload: exit code 4: access denied",
		},
		"no such user": {
			func(*fakeSystemd) {}, []string{"install", "--scope", "system", "--user", "nobody-here"}, "useradd",
		},
		"another user": {func(f *fakeSystemd) {
			must(f, os.WriteFile(filepath.Join(f.dir, "magpie.toml"), []byte("[claude]\nuser = \"nobody\"\n"), 0o600))
		}, []string{"install", "--scope", "user"}, "[claude] user"},
		"no configuration": {
			func(f *fakeSystemd) { must(f, os.Remove(filepath.Join(f.dir, "magpie.toml"))) }, install, "--config",
		},
		"bad configuration": {func(f *fakeSystemd) {
			must(f, os.WriteFile(filepath.Join(f.dir, "magpie.toml"), []byte("[claud]\n"), 0o600))
		}, install, "unknown key"},
		"status of nothing": {func(*fakeSystemd) {}, []string{"status"}, "magpie service install"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeSystemd(t)
			tc.spoil(f)
			if out, err := f.run(tc.args...); err == nil || !strings.Contains(out, tc.want) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
