package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// installs is a copy of scripts/common.sh beside a fake npm, which writes 3 MB into node_modules, waits for the file
// grow, writes 39 MB more, waits for the file seen, and then installs a fake CLI. The script's polling interval is
// short.
type installs struct {
	testing.TB
	root string
}

func newInstalls(t testing.TB) installs {
	t.Helper()
	s := installs{t, t.TempDir()}
	common, err := os.ReadFile("../../scripts/common.sh")
	must(t, err)
	for name, text := range map[string]string{
		"scripts/common.sh":        string(common),
		"scripts/cli/package.json": `{"dependencies": {"@anthropic-ai/claude-code": "1.2.3"}}`,
		"bin/sleep":                "#!/bin/sh\nexec /bin/sleep 0.02\n",
		"bin/npm": `#!/bin/sh
mkdir -p node_modules
head -c 3000000 /dev/urandom >node_modules/part
until [ -e "$GROW" ]; do /bin/sleep 0.02; done
head -c 40000000 /dev/zero >more
mv more node_modules
until [ -e "$SEEN" ]; do /bin/sleep 0.02; done
[ -z "$FAILS" ] || exit 1
for machine in x64 arm64; do
  mkdir -p node_modules/@anthropic-ai/claude-code-linux-$machine
  printf '#!/bin/sh\necho "1.2.3 (Claude Code)"\n' >node_modules/@anthropic-ai/claude-code-linux-$machine/claude
  chmod +x node_modules/@anthropic-ai/claude-code-linux-$machine/claude
done
`,
	} {
		path := filepath.Join(s.root, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, []byte(text), 0o700)) //nolint:gosec // some are programs
	}
	return s
}

// command runs the script as other scripts source it, and prints what it installed.
func (s installs) command(env ...string) *exec.Cmd {
	s.Helper()
	cmd := exec.CommandContext(context.Background(), "bash", "-euo", "pipefail", "-c",
		`. "$root/scripts/common.sh"; need_cli; echo "installed $CLAUDE_CLI"`)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "root="+s.root, "GROW="+filepath.Join(s.root, "grow"),
		"SEEN="+filepath.Join(s.root, "seen"), "PATH="+filepath.Join(s.root, "bin")+":"+os.Getenv("PATH"))
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

func (s installs) grow() { must(s, os.WriteFile(filepath.Join(s.root, "grow"), nil, 0o600)) }
func (s installs) see()  { must(s, os.WriteFile(filepath.Join(s.root, "seen"), nil, 0o600)) }

// On a terminal the installation of the CLI shows its progress; a log has one line about it.
func TestTheInstallationOfTheCLIShowsItsProgress(t *testing.T) {
	t.Parallel()
	s := newInstalls(t)
	term := openTerminal(t, s.command())
	term.await("installing the Claude Code CLI 1.2.3 from npm")
	term.await("\r\x1b[K3 of about 400 MB")
	s.grow()
	term.await(" of about 400 MB, 13 MB/s, ") // 39 MB more than 3 s before
	term.await(" s left")
	s.see()
	term.await("\r\x1b[Kinstalled " + s.root + "/scripts/cli/node_modules/@anthropic-ai/claude-code-linux-")
	if code := term.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}

	failing := newInstalls(t)
	term = openTerminal(t, failing.command("FAILS=1"))
	term.await("3 of about 400 MB")
	failing.grow()
	failing.see()
	term.await("npm ci in scripts/cli failed")
	if code := term.exit(); code == 0 {
		t.Error("npm failed, but the script did not")
	}

	quiet := newInstalls(t)
	quiet.grow()
	quiet.see()
	out, err := quiet.command().CombinedOutput()
	if err != nil || strings.Count(string(out), "\n") != 2 || strings.Contains(string(out), "about 400 MB\r") ||
		strings.Contains(string(out), "\x1b") {
		t.Errorf("%v: %q", err, out)
	}
}

// What the first command of the READMEs says is in the language of the terminal: what it builds and opens, and what it
// misses on a machine.
func TestTheFirstCommandSpeaksTheLanguageOfTheTerminal(t *testing.T) {
	t.Parallel()
	s := newInstalls(t)
	run, err := os.ReadFile("../../scripts/run")
	must(t, err)
	for name, text := range map[string]string{
		"scripts/run": string(run),
		"bin/go":      "#!/bin/sh\nmkdir -p bin\nprintf '#!/bin/sh\\necho started $*\\n' >bin/magpie\nchmod +x bin/magpie\n",
		"bin/git":     "#!/bin/sh\n", "bin/claude": "#!/bin/sh\n",
		"tools/none": "",
	} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(s.root, name)), 0o700))
		must(t, os.WriteFile(filepath.Join(s.root, name), []byte(text), 0o700)) //nolint:gosec // most are programs
	}
	bash, err := exec.LookPath("bash")
	must(t, err)
	for lang, want := range map[string][]string{
		"zh_CN.UTF-8": {"正在编译", "打开演练场", "缺少 go"},
		"en_US.UTF-8": {"building", "starting the playground", "missing: go"},
	} {
		cmd := exec.CommandContext(t.Context(), bash, "scripts/run", "--port", "7")
		cmd.Dir = s.root
		cmd.Env = []string{"LC_ALL=" + lang, "PATH=" + filepath.Join(s.root, "bin") + ":" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), want[0]) || !strings.Contains(string(out), want[1]) ||
			!strings.Contains(string(out), "started playground --port 7") {
			t.Errorf("%s: %v: %s", lang, err, out)
		}
		missing := exec.CommandContext(t.Context(), bash, "-c", ". ../scripts/common.sh; need_go")
		missing.Dir = filepath.Join(s.root, "tools")
		missing.Env = []string{"LC_ALL=" + lang, "PATH=" + missing.Dir}
		if out, err := missing.CombinedOutput(); err == nil || !strings.Contains(string(out), want[2]) {
			t.Errorf("%s: %v: %s", lang, err, out)
		}
	}
}

// Behind some networks nothing can be downloaded: the scripts then say which settings choose a mirror.
func TestAFailedDownloadNamesTheSettingsOfMirrors(t *testing.T) {
	t.Parallel()
	for lang, want := range map[string]string{"zh_CN.UTF-8": "镜像", "en_US.UTF-8": "mirror"} {
		s := newInstalls(t)
		s.grow()
		s.see()
		if out, err := s.command("FAILS=1", "LC_ALL="+lang).CombinedOutput(); err == nil ||
			!strings.Contains(string(out), want) || !strings.Contains(string(out), "npm config set registry ") {
			t.Errorf("%s: %v: %s", lang, err, out)
		}
		run, err := os.ReadFile("../../scripts/run")
		must(t, err)
		must(t, os.WriteFile(filepath.Join(s.root, "scripts", "run"), run, 0o600))
		must(t, os.WriteFile(filepath.Join(s.root, "bin", "go"), []byte("#!/bin/sh\nexit 1\n"), 0o700)) //nolint:gosec // a program
		cmd := exec.CommandContext(t.Context(), "bash", "scripts/run")
		cmd.Dir = s.root
		cmd.Env = []string{"LC_ALL=" + lang, "PATH=" + filepath.Join(s.root, "bin") + ":" + os.Getenv("PATH")}
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), want) ||
			!strings.Contains(string(out), "GOPROXY=") {
			t.Errorf("%s: %v: %s", lang, err, out)
		}
	}
}

// shim makes a folder of programs in which go and npm write down how they are called. go lists the test files of this
// repository, and does nothing else.
func shim(t *testing.T) (path, calls string) {
	t.Helper()
	dir := t.TempDir()
	calls = filepath.Join(dir, "calls")
	toolchain, err := exec.LookPath("go")
	must(t, err)
	for name, text := range map[string]string{
		"go":        "#!/bin/sh\n[ \"$1\" = list ] && exec " + toolchain + " \"$@\"\necho \"go $*\" >>" + calls + "\n",
		"npm":       "#!/bin/sh\necho npm in $PWD >>" + calls + "\nexit 1\n",
		"eatmydata": "#!/bin/sh\nexec \"$@\"\n", "gcc": "#!/bin/sh\n", "git": "#!/bin/sh\n",
	} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700)) //nolint:gosec // programs
	}
	for _, name := range []string{
		"bash", "sh", "env", "grep", "awk", "sed", "sort", "cat", "dirname", "uname", "tr", "xargs", "id", "du", "head",
	} {
		found, err := exec.LookPath(name)
		must(t, err)
		must(t, os.Symlink(found, filepath.Join(dir, name)))
	}
	return dir, calls
}

// Who tests one package waits for what that package needs and for no more; scripts/quick needs Go alone.
func TestAPartOfTheTestsInstallsOnlyWhatItNeeds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ script, args, runs, installs string }{
		{"test", "-run TestX ./internal/text", "go test -timeout 40m -vet off -race -run TestX ./internal/text", ""},
		{"test", "./bridge ./db", "-race ./bridge ./db", ""},
		{"test", "-run TestX ./feishu ./db",
			"go run ./internal/pgtest/pgrun eatmydata go test -timeout 40m -vet off -run TestX magpie/db\n", ""},
		{"test", "./internal/modelsim", "", "npm in "},
		{"test", "-run TestX ./internal/claude", "", "npm in "},
		{"quick", "", "go test -vet off -short", ""},
	} {
		t.Run(tt.script+" "+tt.args, func(t *testing.T) {
			path, calls := shim(t)
			root, err := filepath.Abs("../..")
			must(t, err)
			// A copy without node_modules: what is installed here must not hide what the script asks for.
			copied := t.TempDir()
			must(t, os.MkdirAll(filepath.Join(copied, "scripts", "cli", "oldest"), 0o700))
			for _, name := range []string{
				"common.sh", "test", "quick", "postgres", "cli/package.json", "cli/oldest/package.json",
			} {
				data, err := os.ReadFile(filepath.Join(root, "scripts", name))
				must(t, err)
				must(t, os.WriteFile(filepath.Join(copied, "scripts", name), data, 0o700)) //nolint:gosec // programs
			}
			for _, name := range []string{"go.mod", "go.sum", "bridge", "cmd", "contextmgr", "db", "feishu", "internal"} {
				must(t, os.Symlink(filepath.Join(root, name), filepath.Join(copied, name)))
			}
			cmd := exec.CommandContext(t.Context(), filepath.Join(path, "bash"), append([]string{"scripts/" + tt.script},
				strings.Fields(tt.args)...)...)
			cmd.Dir = copied
			cmd.Env = []string{"PATH=" + path, "LC_ALL=C", "HOME=" + os.Getenv("HOME"), "GOPROXY=off",
				"GOCACHE=" + os.Getenv("GOCACHE"), "GOMODCACHE=" + os.Getenv("GOMODCACHE")}
			out, err := cmd.CombinedOutput()
			made, _ := os.ReadFile(calls)
			if (err != nil) != (tt.installs != "") || !strings.Contains(string(made), tt.runs) ||
				!strings.Contains(string(made), tt.installs) || tt.installs == "" && strings.Contains(string(made), "npm") {
				t.Errorf("%v: %s\ncalled: %s", err, out, made)
			}
		})
	}
}
