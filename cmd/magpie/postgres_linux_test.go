package main

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver

	"magpie/internal/pgtest"
)

// passwordOfBot is the password of the role bot.
const passwordOfBot = "correct-horse-battery"

// startPostgres starts a server with a database of a role bot, and returns its URL with the password.
func startPostgres(t *testing.T) (*pgtest.Server, string) {
	t.Helper()
	server := pgtest.Start(t, pgtest.Config{Access: []string{
		"host all magpie 127.0.0.1/32 trust", "host all bot 127.0.0.1/32 scram-sha-256",
	}})
	pool, err := sql.Open("pgx", server.URL("postgres"))
	must(t, err)
	defer pool.Close() //nolint:errcheck // nothing is left to do
	for _, s := range []string{
		"CREATE ROLE bot LOGIN PASSWORD '" + passwordOfBot + "'", "CREATE DATABASE bot OWNER bot",
	} {
		_, err := pool.Exec(s)
		must(t, err)
	}
	u, err := url.Parse(server.URL("bot"))
	must(t, err)
	u.User = url.UserPassword("bot", passwordOfBot)
	return server, u.String()
}

// inPostgres has the service in dir keep its database at url, and everything else in the folder data.
func inPostgres(t *testing.T, dir, url string) {
	t.Helper()
	path := filepath.Join(dir, "magpie.toml")
	text, err := os.ReadFile(path)
	must(t, err)
	at := "sqlite://" + filepath.Join(dir, "data", "magpie.db")
	if !bytes.Contains(text, []byte(at)) {
		t.Fatalf("%s is not in the configuration", at)
	}
	must(t, os.WriteFile(path, append([]byte("data = \"data\"\n"), bytes.Replace(text, []byte(at), []byte(url), 1)...), 0o600))
}

// A bridge serves from PostgreSQL. Every command says where the database is and shows no password, nor does the log, an
// agent's environment or a file.
func TestServingFromPostgres(t *testing.T) {
	t.Parallel()
	server, at := startPostgres(t)
	sim, dir := startSim(t), t.TempDir()
	user := sim.AddUser("小明")
	writeService(t, dir, sim, "allow = [\""+user.OpenID+"\"]\n")
	inPostgres(t, dir, at)
	place := "postgres://bot@" + strings.Split(strings.Split(at, "@")[1], "?")[0]
	var said bytes.Buffer
	run := func(code int, want string, args ...string) {
		t.Helper()
		for _, lang := range []string{"LANG=zh_CN.UTF-8", "LANG=C.UTF-8"} {
			cmd := magpie(t, dir, args...)
			cmd.Env = append(cmd.Env, lang)
			out, _ := cmd.CombinedOutput() // its exit code is checked below
			said.Write(out)
			if got := cmd.ProcessState.ExitCode(); got != code || lang == "LANG=C.UTF-8" && !strings.Contains(string(out), want) {
				t.Errorf("%s %s: exit code %d, want %d and %q:\n%s", lang, args, got, code, want, out)
			}
		}
	}
	run(1, "the database is empty: bot", "history", "export")
	run(1, "database: "+place+" will be created at the first start", "doctor")

	service := startProcess(t, magpie(t, dir, "serve"))
	service.await("feishu: connected")
	r := &rig{TB: t, sim: sim, user: user, chat: sim.PrivateChat(user)}
	if got := r.ask("你好"); !strings.Contains(got, "你好") {
		t.Errorf("answer %q", got)
	}
	run(0, "你好", "history", "export")
	run(0, "0 read", "history", "import", "/dev/null")
	run(1, fmt.Sprintf("database: %s is intact; process %d is using it", place, service.cmd.Process.Pid), "doctor")
	run(0, "", "audit")
	run(0, "", "memory", "export", "memories")
	run(0, "你好", "context", "--chat", r.chat, "--message", "你好")
	run(1, "pg_dump --format=custom --file="+filepath.Join(dir, "copy.dump")+" "+place, "backup", "copy.dump")
	must(t, os.WriteFile(filepath.Join(dir, "terminal.toml"), fmt.Appendf(nil,
		"data = \"data\"\n[terminal]\nenabled = true\n[claude]\ncommand = %q\n[db]\nurl = %q\n", "sh", at), 0o600))
	run(1, fmt.Sprintf("the data folder %s is in use by process %d", filepath.Join(dir, "data"), service.cmd.Process.Pid),
		"serve", "--config", "terminal.toml")
	must(t, os.WriteFile(filepath.Join(dir, "open.toml"), fmt.Appendf(nil,
		"data = \"data\"\n[terminal]\nenabled = true\n[db]\nurl = %q\n", server.URL("bot")), 0o600))
	run(1, "takes no password, so agents can log in as well", "doctor", "--config", "open.toml")
	run(0, "runs, also sends digests and sweeps", "nodes")
	run(1, "database: bridges that use it: 1 (", "doctor")
	noneHasPassword(t, service.cmd.Process.Pid)

	must(t, server.Stop())
	run(1, "cannot be reached", "history", "export")
	run(1, "cannot be reached", "doctor")
	must(t, server.Start(context.WithoutCancel(t.Context())))
	if got := r.ask("还在吗"); !strings.Contains(got, "还在吗") {
		t.Errorf("answer %q", got)
	}
	service.stop()
	run(0, "has ended", "nodes")
	run(1, "database: "+place+" is intact; no process of this machine is using it", "doctor")
	run(0, "0 read", "history", "import", "/dev/null")
	run(0, "", "memory", "import", "memories")
	for what, text := range map[string]string{"a command": said.String(), "the log": service.logs.String()} {
		if strings.Contains(text, "-battery") {
			t.Errorf("%s shows the password: %s", what, text)
		}
	}
	if log := service.logs.String(); strings.Contains(log, "failed to connect") {
		t.Errorf("the log has the driver's words: %s", log)
	}
	must(t, filepath.WalkDir(filepath.Join(dir, "data"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte("-battery")) {
			t.Errorf("%s has the password", path)
		}
		return err
	}))
}

// noneHasPassword looks for the password in the environments and arguments of a process' children.
func noneHasPassword(t *testing.T, pid int) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "pgrep", "-P", fmt.Sprint(pid)).Output()
	if err != nil {
		t.Fatalf("children of the service: %v", err)
	}
	for child := range strings.FieldsSeq(string(out)) {
		for _, file := range []string{"environ", "cmdline"} {
			data, err := os.ReadFile(filepath.Join("/proc", child, file))
			must(t, err)
			if bytes.Contains(data, []byte("-battery")) || bytes.Contains(data, []byte("postgres://")) {
				t.Errorf("%s of an agent: %q", file, data)
			}
		}
	}
}
