package systemd

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"magpie/internal/operator/config"
)

// The unit in scripts equals the one that "magpie service install" writes with default paths.
func TestTheUnitInScriptsIsTheStandardOne(t *testing.T) {
	path := filepath.Join("..", "..", "..", "scripts", "magpie.service")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := standardUnit().String(); string(data) != want {
		t.Errorf("scripts/magpie.service should be\n%s", want)
	}
}

// analyze writes a unit for an existing program, and runs systemd-analyze on it.
func analyze(t *testing.T, u unit, args ...string) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("systemd only exists on Linux")
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not installed: ./scripts/test installs it")
	}
	var err error
	if u.Program, err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), u.Name+".service")
	if err := os.WriteFile(path, []byte(u.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "systemd-analyze", append(args, path)...).CombinedOutput()
	if err != nil {
		t.Fatalf("systemd-analyze: %v: %s", err, out)
	}
	return string(out)
}

func TestSystemdTakesTheUnits(t *testing.T) {
	odd := standardUnit()
	odd.Config, odd.Path = `/srv/50% of $HOME/my "own".toml`, "/srv/a b/bin:/bin"
	odd.Writable = []string{"/srv/a b", `/srv/back\slash`}
	personal := unit{
		Name: "magpie", Program: "/bin/true", Config: "/home/me/magpie.toml", Dir: "/home/me/a b", Path: "/bin",
		Environment: "/home/me/environment",
	}
	for name, u := range map[string]unit{"standard": standardUnit(), "odd names": odd, "of a user": personal} {
		if out := analyze(t, u, "verify"); out != "" {
			t.Errorf("%s: %s\n%s", name, out, u)
		}
	}
}

// systemd-analyze gives 0 to a service that can do nothing, and 10 to one that can do everything. It counts what the
// bridge needs to run agents as another user; the agents themselves have none of it.
func TestTheUnitIsASandbox(t *testing.T) {
	atHome, alone := standardUnit(), standardUnit()
	atHome.Writable = []string{"/home/me/work"}
	alone.Agents.User = ""
	for name, u := range map[string]unit{
		"standard": standardUnit(), "project in a home folder": atHome, "one user": alone,
	} {
		most := 3.0
		if u.Agents.User == "" {
			most = 2.0
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
	if !strings.Contains(standardUnit().String(), "ProtectHome=yes") ||
		!strings.Contains(atHome.String(), "ProtectHome=read-only") {
		t.Error("home folders are hidden where they are needed, or visible where they are not")
	}
}

// The service manager's timeout is longer than the bridge's shutdown.
func TestTimeToStop(t *testing.T) {
	for _, shutdown := range []time.Duration{0, config.Defaults().Shutdown.Duration, 10 * time.Minute} {
		u := standardUnit()
		u.Shutdown = shutdown
		stop := regexp.MustCompile(`TimeoutStopSec=(\d+)\n`).FindStringSubmatch(u.String())
		if n, err := strconv.Atoi(stop[1]); err != nil || time.Duration(n)*time.Second < shutdown+stopGrace {
			t.Errorf("shutdown_timeout %v: %v", shutdown, stop)
		}
	}
}

// A unit that somebody edited is distinguished from a generated one.
func TestPristine(t *testing.T) {
	text := standardUnit().String()
	for _, tc := range []struct {
		text string
		want bool
	}{
		{text, true}, {text + "\n", false}, {strings.Replace(text, "RestartSec=2", "RestartSec=3", 1), false},
		{"", false}, {"[Unit]\n", false},
	} {
		if isPristine(tc.text) != tc.want {
			t.Errorf("pristine is %t for\n%.200s", !tc.want, tc.text)
		}
	}
}

// The unit among the examples equals the one that "magpie service install" writes for a user, for any user.
func TestTheUnitAmongTheExamplesIsThatOfAUser(t *testing.T) {
	u := unit{
		Name: "magpie", Program: "/usr/local/bin/magpie", Config: "/HOME/.config/magpie/magpie.toml", Dir: "/HOME",
		Path: "/HOME/.local/bin:" + systemPath, Environment: "/HOME/.config/magpie/environment",
	}
	_, text, _ := strings.Cut(u.String(), "\n")
	want := "# A service of one user: copy it to ~/.config/systemd/user/magpie.service, or run magpie service install.\n" +
		strings.ReplaceAll(text, "/HOME", "%h")
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", "magpie-user.service"))
	if err != nil || string(data) != want {
		t.Errorf("examples/magpie-user.service should be (%v)\n%s", err, want)
	}
}
