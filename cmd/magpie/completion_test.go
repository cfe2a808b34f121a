package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A shell that has loaded the completion knows the commands, subcommands, and their flags.
func TestShellsCompleteCommands(t *testing.T) {
	t.Parallel()
	script, err := magpie(t, t.TempDir(), "completion", "bash").Output()
	must(t, err)
	for line, want := range map[string]string{
		"magpie hi":              "history",
		"magpie history im":      "import",
		"magpie history export ": "--chat",
		"magpie completion f":    "fish",
		"magpie serve --con":     "--config",
		"magpie nonsense do":     "doctor",
	} {
		words := strings.Fields(line)
		if strings.HasSuffix(line, " ") {
			words = append(words, "''")
		}
		cmd := exec.Command("bash", "--norc", "-c", string(script)+"\nCOMP_WORDS=("+strings.Join(words, " ")+
			"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _magpie; printf '%s\\n' \"${COMPREPLY[@]}\"")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains("\n"+string(out), "\n"+want+"\n") {
			t.Errorf("%q: %v, %s", line, err, out)
		}
	}
	zsh, err := magpie(t, t.TempDir(), "completion", "zsh").Output()
	must(t, err)
	if !strings.HasPrefix(string(zsh), "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i; }\n"+
		"autoload -U +X bashcompinit && bashcompinit\n") {
		t.Errorf("for zsh: %s", zsh)
	}
	loadInPlainZsh(t, zsh)
	fish, err := magpie(t, t.TempDir(), "completion", "fish").Output()
	must(t, err)
	for _, want := range []string{
		"complete -c magpie -n '__fish_use_subcommand' -f -a doctor -d ", "-l config -d ",
		"complete -c magpie -n '__fish_seen_subcommand_from history; and not __fish_seen_subcommand_from import export' -f -a import",
	} {
		if !strings.Contains(string(fish), want) {
			t.Errorf("the script for fish lacks %q:\n%s", want, fish)
		}
	}
	for shell, script := range map[string][]byte{"bash": script, "zsh": zsh, "fish": fish} {
		refuteSyntaxErrors(t, shell, script)
	}
}

// loadInPlainZsh has a zsh without any configuration load its script, if zsh is installed.
func loadInPlainZsh(t *testing.T, script []byte) {
	t.Helper()
	path, err := exec.LookPath("zsh")
	if err != nil {
		t.Log("zsh is not installed")
		return
	}
	home := t.TempDir()
	cmd := exec.Command(path, "-f", "-c", string(script)+"\nprint -r -- $_comps[magpie]")
	cmd.Env = []string{"HOME=" + home, "ZDOTDIR=" + home, "PATH=" + os.Getenv("PATH")}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "_magpie") ||
		strings.Contains(string(out), "not found") {
		t.Errorf("zsh cannot load its script: %v\n%s", err, out)
	}
}

// refuteSyntaxErrors has a shell parse a script without running it, if that shell is installed.
func refuteSyntaxErrors(t *testing.T, shell string, script []byte) {
	t.Helper()
	path, err := exec.LookPath(shell)
	if err != nil {
		t.Logf("%s is not installed", shell)
		return
	}
	file := filepath.Join(t.TempDir(), "magpie."+shell)
	must(t, os.WriteFile(file, script, 0o600))
	if out, err := exec.Command(path, "-n", file).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%s cannot parse its script: %v\n%s", shell, err, out)
	}
}
