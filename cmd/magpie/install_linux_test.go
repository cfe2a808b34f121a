package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// privateEtc gives a command its own /etc and /var/lib, in which users can be created.
const privateEtc = `set -e
mount --make-rprivate /
cp -a /etc "$0/etc" && mount --bind "$0/etc" /etc
mkdir "$0/lib" && mount --bind "$0/lib" /var/lib
useradd --system --home-dir /var/lib/magpie --create-home --shell /usr/sbin/nologin magpie
mkdir -p /var/lib/others && touch /var/lib/others/file
chown magpie magpie.toml
exec "$@"`

// Root installs a service: a user is created for its agents and gets the project. Folders of other users are not
// changed.
func TestServiceInstallCreatesTheAgentsUser(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "unshare", "--mount", "mount", "--make-rprivate", "/").CombinedOutput()
	if err != nil {
		t.Skipf("mount namespaces are not permitted here: %v: %s", err, out)
	}
	t.Parallel()
	dir := common(t, map[string]string{"magpie": binary(t)})
	f := fakeSystemdIn(t, dir)
	run := func(config, shell string, args ...string) string {
		t.Helper()
		must(t, os.RemoveAll(filepath.Join(dir, "etc")))
		must(t, os.RemoveAll(filepath.Join(dir, "lib")))
		must(t, os.WriteFile(filepath.Join(dir, "magpie.toml"), []byte(config), 0o600))
		script := fmt.Sprintf("%q \"$@\" && { %s; }", filepath.Join(dir, "magpie"), shell)
		cmd := exec.CommandContext(t.Context(), "unshare", append([]string{
			"--mount", "sh", "-c", privateEtc, dir, "sh", "-c", script, "sh",
			"service", "install", "--root", filepath.Join(dir, "root"),
		}, args...)...)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH"), "HOME=" + dir}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		f.orders()
		return string(out)
	}
	const own = "[claude]\nproject = \"/var/lib/work\"\n"
	unit := filepath.Join(dir, "root/etc/systemd/system/magpie.service")
	look := `id -un magpie-agent; stat -c '%U %G %a' /var/lib/work; stat -c '%U' /var/lib/magpie-agent; cat ` + unit
	printed := run(own, look)
	for _, want := range []string{
		"useradd --system", "giving /var/lib/work to magpie-agent\n",
		"\nmagpie-agent\nmagpie-agent magpie-agent 750\nmagpie-agent\n",
		"User=magpie\n", "MAGPIE_CLAUDE_USER=magpie-agent\n", "SupplementaryGroups=magpie-agent\n",
		"ReadWritePaths=-/var/lib/magpie-agent\n", "AmbientCapabilities=CAP_SETUID ",
	} {
		if !strings.Contains(printed, want) {
			t.Errorf("%q is missing:\n%s", want, printed)
		}
	}
	for name, tc := range map[string]struct {
		config, shell string
		args          []string
		want, not     string
	}{
		"dry run": {
			own, "id magpie-agent; ls -d /var/lib/work", []string{"--dry-run"}, "no such user", "\n/var/lib/work",
		},
		"no second user": {own, "true", []string{"--agents", "same"}, "CapabilityBoundingSet=\n", "useradd"},
		"a user by name": {own, "true", []string{"--agents", "nobody"}, "agents run as nobody", "useradd"},
		"a configured":   {own + "user = \"nobody\"\n", "true", nil, "agents run as nobody", "MAGPIE_CLAUDE_USER"},
		"what others own": {
			"[claude]\nproject = \"/var/lib/others\"\n", "stat -c %U /var/lib/others/file", nil,
			"warning: magpie-agent cannot write to /var/lib/others", "giving",
		},
		"a home folder": {
			"[claude]\nproject = \"/home/me/work\"\n", "true", nil,
			"agents run as magpie, like the service", "useradd",
		},
	} {
		out := run(tc.config, tc.shell+"; cat "+unit, append(tc.args, "--force")...)
		if !strings.Contains(out, tc.want) || strings.Contains(out, tc.not) {
			t.Errorf("%s:\n%s", name, out)
		}
	}
}
