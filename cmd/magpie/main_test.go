package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"magpie/internal/claude/claudetest"
)

// The first commands that people try, such as help or a start without a configuration, say what to do.
func TestFirstSteps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	built, err := magpie(t, dir, "--version").Output()
	if err != nil || len(bytes.TrimSpace(built)) == 0 {
		t.Fatalf("version %q, %v", built, err)
	}
	must(t, os.WriteFile(filepath.Join(dir, "bare.toml"), nil, 0o600))
	for line, tc := range map[string]struct {
		code int
		want string
	}{
		"help":           {0, "Usage: magpie <command>"},
		"help serve":     {0, "Usage: magpie serve"},
		"migrate --help": {0, "Migrate from cc-connect."},
		"service --help": {0, "\nCommands:\n"},
		"help history":   {0, "history import <file>"},
		"help context":   {0, "Usage: magpie context --chat=KEY (--message=TEXT | --batch) [flags]"},
		"--help":         {0, "\nBegin:\n  playground "},
		"-h":             {0, "\nRun:\n  serve "},
		"version":        {0, string(built)},
		"":               {0, "\nConversations and memories:\n  history "},
		"version --json": {0, `"version":"` + strings.Fields(string(built))[0] + `"`},
		"version serve":  {2, "magpie: unexpected argument serve\nSee magpie version --help.\n"},
		"nonsense":       {2, "magpie: unknown command nonsense\nSee magpie --help.\n"},
		"doktor":         {2, "magpie: unknown command doktor; did you mean doctor?\n"},
		"history exprot": {2, "magpie: unknown command exprot; did you mean export?\nSee magpie history --help.\n"},
		"history":        {2, "magpie: a command is missing: import, export\n"},
		"serve --port 1": {2, "magpie: unknown flag --port\n"},
		"serve -config":  {2, "magpie: unknown flag -config; did you mean --config?\n"},
		"serve -confg=x": {2, "magpie: unknown flag -confg; did you mean --config?\n"},
		"serve -c x":     {2, "magpie: unknown flag -c; did you mean --config?\n"},
		"serve -x":       {2, "magpie: unknown flag -x\n"},
		"completion sh":  {2, `magpie: <shell> must be one of bash, zsh, fish, not "sh"`},
		"backup":         {2, "magpie: missing: <file>\n"},
		"context --chat oc_1 --message x --at yesterday": {2, `must be like 2026-05-04, "2026-05-04 12:00"`},
		"serve": {
			2, "there is no magpie.toml here, nor in the user's or the system's configuration folder: " +
				"make one with magpie setup",
		},
		"serve --config":                                  {2, "magpie: --config: a value is missing\nSee magpie serve --help.\n"},
		"context --recall-chars x":                        {2, "magpie: --recall-chars: must be a whole number, not \"x\"\n"},
		"audit --since --json":                            {2, "magpie: --since: a value is missing; if --json is meant as one, write --since=--json\n"},
		"memory import none":                              {2, "/none: there is no such file or folder\nSee magpie memory import --help.\n"},
		"history import none":                             {2, "magpie: <file>: " + dir + "/none: there is no such file or folder\nSee magpie history import --help.\n"},
		"history import .":                                {2, "is a folder, not a file\n"},
		"memory import /dev/null":                         {2, "magpie: <folder>: /dev/null is not a folder\n"},
		"audit --since yesterday --config bare.toml":      {2, "magpie: --since yesterday: must be a day such as 2026-05-04"},
		"context --chat x --message x --config bare.toml": {2, `magpie: chat "x": must be like oc_xxx`},
		"playground --listen x":                           {2, "magpie: --listen x: must be a local address with a port"},
		"playground --command none":                       {2, "magpie: the playground needs the Claude Code CLI: "},
		"playground --command ./bare.toml":                {2, "bare.toml is not executable: run chmod +x"},
		"playground --listen 0.0.0.0:1":                   {2, "magpie: --listen: whoever opens the playground"},
		"stop":                                            {2, "magpie: unknown command stop; for the service, use systemctl stop magpie "},
		"restart":                                         {2, "or pm2 restart feishu\nSee magpie --help.\n"},
		"start":                                           {2, "; magpie serve runs the bridge in this terminal; "},
		"status":                                          {2, "; for the service, use magpie service status\n"},
		"logs":                                            {2, "; for the log, use journalctl -f -u magpie "},
		"history stop":                                    {2, "magpie: unknown command stop\n"},
		"doctor":                                          {1, "there is no magpie.toml - make one with magpie setup"},
		"backup copy.db":                                  {2, "make one with magpie setup"},
		"history export":                                  {2, "make one with magpie setup"},
		"history import /dev/null":                        {2, "make one with magpie setup"},
		"memory export memories":                          {2, "make one with magpie setup"},
		"audit":                                           {2, "make one with magpie setup"},
		"nodes":                                           {2, "make one with magpie setup"},
		"context --chat oc_1 --message x":                 {2, "make one with magpie setup"},
		"context":                                         {2, "folder: make one with magpie setup\n"},
		"context --config none.toml":                      {2, "missing: --chat=KEY"},
		"memory import .":                                 {2, "make one with magpie setup"},
		"service install":                                 {2, "make one with magpie setup"},
		"service status":                                  {1, "is not installed: run magpie setup"},
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			cmd := magpie(t, dir, strings.Fields(line)...)
			out, _ := cmd.CombinedOutput() // its exit code is checked below
			if got := cmd.ProcessState.ExitCode(); got != tc.code || !strings.Contains(string(out), tc.want) {
				t.Errorf("exit code %d, want %d and %q:\n%s", got, tc.code, tc.want, out)
			}
			if strings.Contains(string(out), "app_id is empty") {
				t.Errorf("it reports errors of a configuration that does not exist:\n%s", out)
			}
		})
	}
}

// Only a bridge that runs creates the default project.
func TestAFailingServeLeavesNoProject(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer taken.Close() //nolint:errcheck // only held
	must(t, os.WriteFile(filepath.Join(dir, "magpie.toml"), fmt.Appendf(nil,
		"[feishu]\napp_id = \"cli_%d\"\napp_secret = \"s\"\n"+
			"base_url = \"http://127.0.0.1:1\"\n[claude]\ncommand = %q\n[http]\nlisten = %q\n",
		os.Getpid(), claudetest.Scripted(t), taken.Addr()), 0o600))
	for _, command := range []string{"serve", "doctor"} {
		cmd := magpie(t, dir, command)
		home := filepath.Join(dir, command)
		must(t, os.Mkdir(home, 0o700))
		cmd.Env = append(cmd.Env, "HOME="+home)
		out, err := cmd.CombinedOutput()
		if err == nil || command == "serve" && !strings.Contains(string(out), "[http] listen") {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
		if _, err := os.Stat(filepath.Join(home, "magpie")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s leaves a project: %v", command, err)
		}
	}
}

// With a Chinese locale the answers are in Chinese.
func TestFirstStepsInChinese(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	wrong := filepath.Join(dir, "wrong.toml")
	must(t, os.WriteFile(wrong, []byte("[feishu]\napp_idd = \"cli_1\"\n"), 0o600))
	empty := filepath.Join(dir, "empty.toml")
	must(t, os.WriteFile(empty, []byte("[feishu]\napp_id = \"cli_...\"\n[claude]\nproject = \""+dir+"/none\"\n"), 0o600))
	bare, bad := filepath.Join(dir, "bare.toml"), filepath.Join(dir, "bad.jsonl")
	must(t, os.WriteFile(bare, []byte("[db]\nurl = \"sqlite://"+dir+"/magpie.db\"\n"), 0o600))
	must(t, os.WriteFile(bad, []byte("{}\n[1]\n{\"content\": 7}\nx\n"), 0o600))
	unborn := filepath.Join(dir, "unborn.toml")
	must(t, os.WriteFile(unborn, []byte("[db]\nurl = \"sqlite://"+dir+"/unborn.db\"\n"), 0o600))
	broken := filepath.Join(dir, "broken.toml")
	must(t, os.WriteFile(broken, []byte("[db]\nurl = \"sqlite://"+dir+"/broken.db\"\n"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "broken.db"), bytes.Repeat([]byte("broken "), 1000), 0o600))
	for line, wants := range map[string][]string{
		"serve":  {"配置：这里没有 magpie.toml，用户和系统的配置文件夹里也没有：运行 magpie setup 创建"},
		"backup": {`缺少参数 <文件>`, "用法见 magpie backup --help"},
		"doctor": {"配置：没有 magpie.toml", "有检查没有通过"},
		"serve --config " + wrong: {
			"配置：" + wrong + "：", "\n第 2 行：没有 feishu.app_idd 这个键，是不是 feishu.app_id？\n   2| app_idd = …",
			"[feishu] app_secret 是空的",
		},
		"serve --config " + empty: {
			`app_id "cli_..." 只是示例`, "app_secret 是空的", "没有文件夹 " + dir + "/none：创建它，或换一个",
		},
		"help":                                {"用法：magpie <命令> [参数]\n", "运行鹊桥", "\n开始：\n  playground ", "\n关于这个程序：\n", `运行 "magpie <命令> --help" 查看`},
		"man":                                 {"\n运行鹊桥。\n", "\n.SH 退出码\n"},
		"help serve":                          {"用法：magpie serve [参数]\n", "参数：", "配置文件"},
		"help backup":                         {"用法：magpie backup <文件> [参数]\n", "\n  <文件>    备份文件的位置"},
		"help memory import":                  {"<文件夹>    文档所在的文件夹。\n"},
		"help playground":                     {"--data=文件夹", "Claude Code 命令行（$MAGPIE_CLAUDE_COMMAND）。\n"},
		"nonsense":                            {"不认识的命令 nonsense\n", "用法见 magpie --help"},
		"version serve":                       {"多余的参数 serve\n"},
		"history":                             {"缺少子命令：import、export\n"},
		"context":                             {"运行 magpie setup 创建"},
		"context --config " + bare:            {"缺少参数 --chat=KEY、--message=文字 或 --batch\n"},
		"setup --yes=3":                       {`--yes：应为 true 或 false，而不是 "3"`},
		"memory import none --config " + bare: {"<文件夹>：" + dir + "/none：文件或文件夹不存在\n"},
		"context --chat x --message x --batch --config " + bare: {"--message 和 --batch 不能同时使用\n"},
		"serve -config x":                        {"没有参数 -config，是不是 --config？"},
		"serve --port 1":                         {"没有参数 --port"},
		"serve --confg x":                        {"没有参数 --confg，是不是 --config？"},
		"stop":                                   {"不认识的命令 stop；服务用 systemctl stop magpie"},
		"start":                                  {"不认识的命令 start；magpie serve 在这个终端里运行鹊桥；"},
		"status":                                 {"；服务的状态用 magpie service status 查看\n"},
		"logs":                                   {"；日志用 journalctl -f -u magpie"},
		"history import " + dir:                  {"<文件>：" + dir + " 是文件夹，不是文件\n"},
		"memory import " + bad:                   {"<文件夹>：" + bad + " 不是文件夹\n"},
		"playground --listen x":                  {"--listen x：应为本机的地址和端口"},
		"srve":                                   {"不认识的命令 srve，是不是 serve？"},
		"audit --since x --config " + bare:       {"--since x：应为日期（例如 2026-05-04）"},
		"context --chat oc_1 --message x --at x": {`"x" 不是时间`},
		"history import --config " + bare + " " + bad: {
			"第 1 行：缺少 channel；缺少 chat_id", "第 2 行：不是 JSON 对象，而是列表", "第 3 行：content：类型不对：数字",
			"第 4 行：不是 JSON（第 1 个字节处有误）\n",
		},
		"context --recall-chars x":            {"magpie: --recall-chars：应为整数，而不是 \"x\"\n"},
		"context --recall-chars -5":           {"magpie: --recall-chars：缺少值；如果 -5 就是它的值，请写成 --recall-chars=-5\n"},
		"serve --config":                      {"--config：缺少值\n用法见 magpie serve --help。"},
		"history export --config " + unborn:   {"magpie: 还没有数据库 " + dir + "/unborn.db：第一次启动鹊桥时会创建\n"},
		"backup --config " + broken + " x.db": {"数据库 " + dir + "/broken.db 已损坏", "magpie backup 生成的最新备份复制为"},
		"completion nothing":                  {`应为 bash、zsh、fish 之一，而不是 "nothing"`},
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			cmd := magpie(t, dir, strings.Fields(line)...)
			cmd.Env = append(cmd.Env, "LANG=zh_CN.UTF-8")
			out, _ := cmd.CombinedOutput() // the exit code is tested in English
			for _, want := range wants {
				if !strings.Contains(string(out), want) {
					t.Errorf("%q is missing:\n%s", want, out)
				}
			}
		})
	}
}
