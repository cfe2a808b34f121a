package main

import (
	"context"
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"

	"magpie/internal/claude"
	"magpie/internal/claude/workspace"
	"magpie/internal/i18n"
	"magpie/internal/operator/doctor"
)

// ofCommand is an error about the CLI: one of the machine, or of whoever named the CLI.
func (p playgroundCmd) ofCommand(err error) error {
	if p.Command != workspace.Defaults().Command {
		return wrongUsage(err)
	}
	return err
}

// findCLI returns the path of the CLI, or says why it could not answer any question. The simulated model needs it, too.
func (p playgroundCmd) findCLI(ctx context.Context, environ []string) (string, error) {
	path, err := exec.LookPath(p.Command)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "", wrongUsage(i18n.Mistakef("--command：%s 没有执行权限：运行 chmod +x %[1]s",
			"--command: %s is not executable: run chmod +x %[1]s", p.Command))
	case err != nil:
		return "", p.ofCommand(i18n.Mistakef("演练场需要 Claude Code 命令行：%v（%v；或用 --command 指定）",
			"the playground needs the Claude Code CLI: %v (%v; or name it with --command)", err, workspace.InstallCLI()))
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	cli := doctor.CLI{Config: claude.Config{Command: path}, Environ: environ}
	version, err := cli.Version(ctx)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil || !strings.ContainsAny(version[:min(1, len(version))], "0123456789"):
		return "", p.ofCommand(i18n.Mistakef("运行不了 %s --version%v：重新安装：npm install -g @anthropic-ai/claude-code，"+
			"或用 --command 指定另一个", "%s --version does not work%v: reinstall it with "+
			"npm install -g @anthropic-ai/claude-code, or name another one with --command", path, inBrackets(err)))
	case doctor.IsTooOld(version):
		return "", p.ofCommand(i18n.Mistakef("%s 的版本是 %s，演练场需要 %s 或更新的：npm install -g @anthropic-ai/claude-code@%s",
			"%s is version %s, and the playground needs %s or later: npm install -g @anthropic-ai/claude-code@%s",
			path, version, doctor.OldestCLI, doctor.TestedCLI))
	case p.Agent != simulatedAgent && !cli.IsLoggedIn(ctx):
		return "", i18n.Mistakef("Claude Code 没有登录：先运行 %s auth login，或者去掉 --agent，使用模拟的模型",
			"Claude Code is not logged in: run %s auth login first, or leave out --agent for the simulated model", path)
	}
	return path, nil
}

// inBrackets adds an error to a sentence; nil adds nothing.
func inBrackets(err error) error {
	if err == nil {
		return i18n.Mistakef("", "")
	}
	return i18n.Mistakef("（%v）", " (%v)", err)
}
