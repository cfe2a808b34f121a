package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"magpie/internal/claude/claudetest"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
)

// sandbox uses namespaces to do what the unit asks of systemd: only its arguments up to -- are writable, /tmp is
// private, and there are no capabilities.
const sandbox = `set -e
mount --make-rprivate /
while [ "$1" != -- ]; do mount --bind "$1" "$1"; shift; done
shift
mount -o remount,bind,ro /
mount -t tmpfs tmpfs /tmp
! touch "$HOME/forbidden" 2>/dev/null
exec setpriv --no-new-privs --inh-caps=-all --bounding-set=-all "$@"`

// The real CLI answers inside the sandbox, where only its own files, the project and the database are writable.
func TestATurnInTheSandbox(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "unshare", "--mount", "mount", "--make-rprivate", "/").CombinedOutput()
	if err != nil {
		t.Skipf("mount namespaces are not permitted here: %v: %s", err, out)
	}
	t.Parallel()
	sim := startSim(t)
	model, err := modelsim.Start(modelsim.Config{})
	must(t, err)
	t.Cleanup(func() { _ = model.Close() })
	user := sim.AddUser("小明")
	dir := outsideTmp(t)
	writeService(t, dir, sim, withModel(user, model))
	copyProgram(t, binary(t), filepath.Join(dir, "magpie"))
	cli := claudetest.Command(t)
	if strings.HasPrefix(cli, "/tmp/") { // hidden in the sandbox
		copyProgram(t, cli, filepath.Join(dir, "claude"))
		cli = filepath.Join(dir, "claude")
	}
	for _, name := range []string{"data", "project", "home/.claude"} {
		must(t, os.MkdirAll(filepath.Join(dir, name), 0o700))
	}
	home := filepath.Join(dir, "home")
	must(t, os.WriteFile(filepath.Join(home, ".claude.json"), []byte("{}"), 0o600))

	cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "sh", "-c", sandbox, "sh",
		filepath.Join(dir, "data"), filepath.Join(dir, "project"),
		filepath.Join(home, ".claude"), filepath.Join(home, ".claude.json"),
		"--", filepath.Join(dir, "magpie"), "serve", "--config", filepath.Join(dir, "magpie.toml"))
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "MAGPIE_CLAUDE_COMMAND=" + cli,
		"MAGPIE_CLAUDE_PROJECT=" + filepath.Join(dir, "project"),
		"MAGPIE_DB_URL=sqlite://" + filepath.Join(dir, "data/magpie.db")}
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
	t.Cleanup(func() {
		// a killed process may still be writing its last file
		for end := time.Now().Add(patience); os.RemoveAll(dir) != nil && time.Now().Before(end); {
			time.Sleep(50 * time.Millisecond)
		}
		must(t, os.RemoveAll(dir))
	})
	return dir
}

// copyProgram copies a program with cp: a file that this process has open for writing may be inherited by a child, and
// could not be executed.
func copyProgram(t *testing.T, source, path string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "cp", source, path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
