package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"magpie/internal/claude/claudetest"
	"magpie/internal/i18n"
	"magpie/internal/operator/setup"
)

// A CLI that could not answer is detected at the start, not at the first question.
func TestThePlaygroundChecksTheCLI(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), mode))
		return path
	}
	new := "case $1 in --version) echo 2.1.330 ;; *) exit 1 ;; esac\n"
	for name, tc := range map[string]struct {
		playgroundCmd
		en, zh string
	}{
		"none": {
			playgroundCmd{Command: "no-such-claude"},
			"the playground needs the Claude Code CLI: no-such-claude: there is no such program in PATH (install ",
			"演练场需要 Claude Code 命令行：no-such-claude：PATH 里没有这个程序（",
		},
		"not executable": {
			playgroundCmd{Command: script("text", "", 0o600)},
			"/text is not executable: run chmod +x ", "/text 没有执行权限：运行 chmod +x ",
		},
		"it exits": {
			playgroundCmd{Command: script("broken", "exit 3\n", 0o700)},
			"/broken --version does not work (exit code 3): reinstall it with npm", "/broken --version（退出码 3）：重新安装：npm",
		},
		"it says nothing": {
			playgroundCmd{Command: script("silent", "echo hello\n", 0o700)},
			"/silent --version does not work: reinstall", "/silent --version：重新安装",
		},
		"old": {
			playgroundCmd{Command: script("old", "echo '1.0.9 (Claude Code)'\n", 0o700)},
			"/old is version 1.0.9, and the playground needs 2.1.", "/old 的版本是 1.0.9，演练场需要 2.1.",
		},
		"not logged in": {
			playgroundCmd{Command: script("new", new, 0o700), Agent: "claude"},
			"/new auth login first, or leave out --agent", "/new auth login，或者去掉 --agent",
		},
		"simulated":  {playgroundCmd{Command: filepath.Join(dir, "new"), Agent: simulatedAgent}, "", ""},
		"a good one": {playgroundCmd{Command: claudetest.Scripted(t), Agent: simulatedAgent}, "", ""},
	} {
		path, err := tc.findCLI(t.Context(), os.Environ())
		if tc.Listen = "127.0.0.1:0"; tc.en != "" {
			if ln, _, err := tc.begin(t.Context(), os.Environ()); err == nil {
				t.Errorf("%s: the playground starts", name)
				must(t, ln.Close())
			}
		}
		if named := tc.en != "" && name != "not logged in"; isUsageError(err) != named {
			t.Errorf("%s: it exits as if the command line were wrong: %v, want %v", name, !named, named)
		}
		if tc.en == "" {
			if err != nil || !filepath.IsAbs(path) {
				t.Errorf("%s: %s, %v", name, path, err)
			}
			continue
		}
		if en, zh := i18n.ErrorText(i18n.English, err), i18n.ErrorText(i18n.Chinese, err); !strings.Contains(en, tc.en) ||
			!strings.Contains(zh, tc.zh) {
			t.Errorf("%s: %q, %q", name, en, zh)
		}
	}
}

func isUsageError(err error) bool { return errors.As(err, new(*setup.UsageError)) }
