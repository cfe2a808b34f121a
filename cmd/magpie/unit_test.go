package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"magpie/internal/claude/claudetest"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
)

// The unit in scripts is the one that "magpie service install" writes for the usual places.
func TestTheUnitInScriptsIsTheStandardOne(t *testing.T) {
	path := filepath.Join("..", "..", "scripts", "magpie.service")
	data, err := os.ReadFile(path)
	must(t, err)
	if want := standardUnit().String(); string(data) != want {
		t.Errorf("scripts/magpie.service should be\n%s", want)
	}
}

// analyze writes a unit for a program that exists, and lets systemd-analyze look at it.
func analyze(t *testing.T, u unit, args ...string) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("there is systemd on Linux only")
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Fatal("systemd-analyze is not installed; run scripts/test")
	}
	var err error
	u.Program, err = os.Executable()
	must(t, err)
	path := filepath.Join(t.TempDir(), u.Name+".service")
	must(t, os.WriteFile(path, []byte(u.String()), 0o600))
	out, err := exec.CommandContext(t.Context(), "systemd-analyze", append(args, path)...).CombinedOutput()
	if err != nil {
		t.Fatalf("systemd-analyze: %v: %s", err, out)
	}
	return string(out)
}

func TestSystemdTakesTheUnits(t *testing.T) {
	odd := standardUnit()
	odd.Config, odd.Writable, odd.Path = `/srv/50% of $HOME/my "own".toml`, []string{"/srv/a b", `/srv/back\slash`}, "/srv/a b/bin:/bin"
	personal := unit{Name: "magpie", Program: "/bin/true", Config: "/home/me/magpie.toml", Dir: "/home/me/a b", Path: "/bin", Environment: "/home/me/environment"}
	for name, u := range map[string]unit{"standard": standardUnit(), "odd names": odd, "of a user": personal} {
		if out := analyze(t, u, "verify"); out != "" {
			t.Errorf("%s: %s\n%s", name, out, u)
		}
	}
}

// systemd-analyze gives 0 to a service that can do nothing, and 10 to one that can do everything. It counts what the
// bridge needs to run agents as another user; the agents themselves have nothing of it.
func TestTheUnitIsASandbox(t *testing.T) {
	atHome, alone := standardUnit(), standardUnit()
	atHome.Writable = []string{"/home/me/work"}
	alone.Agents = ""
	for name, u := range map[string]unit{"standard": standardUnit(), "project in a home folder": atHome, "one user": alone} {
		most := 2.5
		if u.Agents == "" {
			most = 1.6
		}
		out := analyze(t, u, "security", "--offline=true", "--no-pager")
		level := regexp.MustCompile(`exposure level for .*: ([\d.]+)`).FindStringSubmatch(out)
		if level == nil {
			t.Fatalf("no exposure level: %s", out)
		}
		if got, err := strconv.ParseFloat(level[1], 64); err != nil || got > most {
			t.Errorf("%s: exposure level %s, want at most %v\n%s", name, level[1], most, out)
		}
	}
	if !strings.Contains(standardUnit().String(), "ProtectHome=yes") || !strings.Contains(atHome.String(), "ProtectHome=read-only") {
		t.Error("home folders are hidden where they are needed, or shown where they are not")
	}
}

// A service manager waits longer than the bridge takes.
func TestTimeToStop(t *testing.T) {
	for _, shutdown := range []time.Duration{0, defaults().Shutdown.Duration, 10 * time.Minute} {
		u := standardUnit()
		u.Shutdown = shutdown
		stop := regexp.MustCompile(`TimeoutStopSec=(\d+)\n`).FindStringSubmatch(u.String())
		if n, err := strconv.Atoi(stop[1]); err != nil || time.Duration(n)*time.Second < shutdown+stopRest {
			t.Errorf("shutdown_timeout %v: %v", shutdown, stop)
		}
	}
}

// What somebody has edited is told from what was written.
func TestPristine(t *testing.T) {
	text := standardUnit().String()
	for _, tc := range []struct {
		text string
		want bool
	}{
		{text, true}, {text + "\n", false}, {strings.Replace(text, "RestartSec=2", "RestartSec=3", 1), false}, {"", false}, {"[Unit]\n", false},
	} {
		if pristine(tc.text) != tc.want {
			t.Errorf("pristine is %t for\n%.200s", !tc.want, tc.text)
		}
	}
}

// sandbox does with namespaces what the unit asks of systemd: nothing but its arguments up to -- can be written, /tmp
// is private, and there are no capabilities.
const sandbox = `set -e
mount --make-rprivate /
while [ "$1" != -- ]; do mount --bind "$1" "$1"; shift; done
shift
mount -o remount,bind,ro /
mount -t tmpfs tmpfs /tmp
! touch "$HOME/forbidden" 2>/dev/null
exec setpriv --no-new-privs --inh-caps=-all --bounding-set=-all "$@"`

// The real CLI answers from inside the sandbox, where only its own files, the project and the database can be written.
func TestATurnInTheSandbox(t *testing.T) {
	if out, err := exec.CommandContext(t.Context(), "unshare", "--mount", "mount", "--make-rprivate", "/").CombinedOutput(); err != nil {
		t.Skipf("mount namespaces are not permitted here: %v: %s", err, out)
	}
	t.Parallel()
	sim := startSim(t)
	model, err := modelsim.Start(modelsim.Config{})
	must(t, err)
	t.Cleanup(func() { _ = model.Close() })
	user := sim.AddUser("小明")
	more := fmt.Sprintf("admins = [%q]\n[claude.env]\nANTHROPIC_BASE_URL = %q\nANTHROPIC_API_KEY = \"sk-test-dummy\"\n", user.OpenID, model.URL())
	dir := outsideTmp(t)
	writeService(t, dir, sim, more)
	copyProgram(t, binary(t), filepath.Join(dir, "magpie"))
	cli := claudetest.Command(t)
	if strings.HasPrefix(cli, "/tmp/") { // which the sandbox hides
		copyProgram(t, cli, filepath.Join(dir, "claude"))
		cli = filepath.Join(dir, "claude")
	}
	for _, name := range []string{"data", "project", "home/.claude"} {
		must(t, os.MkdirAll(filepath.Join(dir, name), 0o700))
	}
	home := filepath.Join(dir, "home")
	must(t, os.WriteFile(filepath.Join(home, ".claude.json"), []byte("{}"), 0o600))

	cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "sh", "-c", sandbox, "sh",
		filepath.Join(dir, "data"), filepath.Join(dir, "project"), filepath.Join(home, ".claude"), filepath.Join(home, ".claude.json"),
		"--", filepath.Join(dir, "magpie"), "serve", "--config", filepath.Join(dir, "magpie.toml"))
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "MAGPIE_CLAUDE_COMMAND=" + cli,
		"MAGPIE_CLAUDE_PROJECT=" + filepath.Join(dir, "project"), "MAGPIE_DB_URL=sqlite://" + filepath.Join(dir, "data/magpie.db")}
	p := startProcess(t, cmd)
	r := &rig{TB: t, sim: sim, model: model, user: user, chat: sim.PrivateChat(user)}
	p.await("magpie is running")
	r.await("a connection", func(v *feishusim.View) bool { return v.Connections() > 0 })
	if got := r.ask("我叫小明"); got != "好的，小明，我记住了。" {
		t.Errorf("answer %q", got)
	}
	if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
		t.Errorf("answer %q", got)
	}
	p.stop()
	r.clean()
}

// outsideTmp is a new folder that the private /tmp does not hide.
func outsideTmp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "magpie-test-")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	return dir
}

// copyProgram copies a program. It is not written here: one that a child of ours still has open for writing cannot be
// run.
func copyProgram(t *testing.T, source, path string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "cp", source, path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
