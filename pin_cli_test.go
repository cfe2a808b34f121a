package magpie_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"magpie/internal/operator/doctor"
)

// The version of the CLI that is named as the one to use is moved by one script, in all of these files. npm is a fake: a
// version that nobody has published has no lock file.
func TestOneScriptMovesTheCLI(t *testing.T) {
	named := []string{
		"Dockerfile", "README.md", "README.zh.md", "docs/operation.md", "docs/operation.zh.md", "docs/troubleshooting.md",
		"docs/troubleshooting.zh.md", "examples/compose.yaml", "internal/claude/claudetest/scripted/main.go",
		"internal/operator/doctor/cli.go", "scripts/cli/package.json",
	}
	const facts = "docs/claude-cli.md" // what a version does; it stays
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil { //nolint:gosec // some are programs
			t.Fatal(err)
		}
	}
	before := map[string]string{}
	for _, name := range append([]string{"scripts/pin-cli", "scripts/cli/oldest/package.json", facts}, named...) {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		before[name] = string(data)
		write(name, string(data))
	}
	write("bin/npm", "#!/bin/sh\necho \"$PWD $*\" >../../npm-was-run\n")
	command := func(name string, args ...string) error {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Logf("%s %s: %s", name, args, out)
		}
		return err
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}} {
		if err := command("git", args...); err != nil {
			t.Fatal(err)
		}
	}
	if err := command("scripts/pin-cli", "latest"); err == nil {
		t.Error("a version that is none was pinned")
	}
	if err := command("scripts/pin-cli", "99.88.77"); err != nil {
		t.Fatal(err)
	}
	for name, was := range before {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		is := string(data)
		moved := strings.Count(is, "99.88.77")
		switch wanted := strings.Contains(strings.Join(named, " "), name); {
		case wanted && moved == 0:
			t.Errorf("%s does not name the version of today, %s, or the script does not find it", name, doctor.TestedCLI)
		case !wanted && is != was:
			t.Errorf("%s was changed", name)
		case strings.ReplaceAll(is, "99.88.77", doctor.TestedCLI) != was:
			t.Errorf("%s named another version than %s before", name, doctor.TestedCLI)
		}
	}
	ran, err := os.ReadFile(filepath.Join(dir, "npm-was-run"))
	if err != nil || !strings.Contains(string(ran), "scripts/cli install --package-lock-only") {
		t.Errorf("npm: %q %v", ran, err)
	}
	lock, err := os.ReadFile("scripts/cli/package-lock.json")
	if err != nil || strings.Count(string(lock), `"version": "`+doctor.TestedCLI+`"`) < 2 ||
		strings.Contains(string(lock), `"resolved"`) {
		t.Errorf("scripts/cli/package-lock.json pins another version, or names a registry: %v", err)
	}
}
