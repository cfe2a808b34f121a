package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"magpie/internal/claude/account"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
)

// serviceID is the user of the service in tests, where that is not root.
const serviceID = 1

// asTheService is a command that runs as the unit runs the service: as a separate user, with the capabilities to run
// agents as another user.
func asTheService(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	caps := ""
	for _, name := range account.Capabilities() {
		caps += ",+" + strings.ToLower(strings.TrimPrefix(name, "CAP_"))
	}
	return exec.CommandContext(t.Context(), "setpriv", append([]string{
		fmt.Sprintf("--reuid=%d", serviceID), fmt.Sprintf("--regid=%d", serviceID),
		fmt.Sprintf("--groups=%d,%d", serviceID, strangerID),
		"--bounding-set=-all" + caps, "--inh-caps=-all" + caps, "--ambient-caps=-all" + caps, "--no-new-privs", "--",
	}, args...)...)
}

// attack tries what an agent must not be able to do, and leaves a process behind. Its arguments are the service's files
// and its process ID.
const attack = `id -u; grep -E 'Cap(Inh|Prm|Eff|Amb)' /proc/self/status
for file in "$1"/magpie.toml "$1"/app_secret "$1"/data/magpie.db /proc/"$2"/environ /proc/"$2"/mem /proc/"$2"/maps; do
	[ "$(head -c 1 "$file" 2>/dev/null | wc -c)" != 0 ] && echo "CAN READ $file"
done
for dir in "$1"/data "$1"/data/files /proc/"$2"/fd; do ls "$dir" 2>/dev/null | grep -vE '^(files|[0-9a-f-]{36})$' && echo "CAN LIST $dir"; done
kill -0 "$2" 2>/dev/null && echo "CAN SIGNAL the service"
echo x >>"$1"/data/magpie.db 2>/dev/null && echo "CAN WRITE the database"
env | grep MAGPIE_PROCESS
setsid -f sleep 987
echo over
`

// An agent that runs as another user than the service can read nothing of the service, whatever was approved. The
// service answers, hands it attachments, resumes its sessions, and ends its leftover processes: as root, and as an
// ordinary user with the unit's capabilities.
func TestAttackTheService(t *testing.T) {
	t.Parallel()
	dir := common(t, map[string]string{"magpie": binary(t)})
	for name, ordinary := range map[string]bool{"root": false, "capabilities": true} {
		t.Run(name, func(t *testing.T) { t.Parallel(); attackTheService(t, filepath.Join(dir, "magpie"), ordinary) })
	}
}

func attackTheService(t *testing.T, program string, ordinary bool) {
	r := makeRig(t, feishusim.Config{}, realCLI(t))
	dir, owner := filepath.Join(filepath.Dir(program), t.Name()[strings.LastIndex(t.Name(), "/")+1:]), 0
	if ordinary {
		owner = serviceID
	}
	for _, f := range []struct {
		name string
		mode os.FileMode
		user int
	}{
		{"", 0o755, owner}, {"data", 0o700, owner}, {"home", 0o700, owner},
		{"agent", 0o700, strangerID}, {"project", 0o700, strangerID},
	} {
		path := filepath.Join(dir, f.name)
		must(t, os.Mkdir(path, f.mode))
		must(t, os.Chown(path, f.user, f.user))
	}
	config := fmt.Sprintf(`context.titles = true
access.owner = %q
[feishu]
app_id = %q
base_url = %q
[claude]
command = %q
project = %q
user = "nobody"
[claude.env]
HOME = %q
ANTHROPIC_BASE_URL = %q
ANTHROPIC_API_KEY = "sk-test-dummy"
[db]
url = %q
`,
		r.user.OpenID, r.sim.AppID(), r.sim.URL(), r.cfg.Claude.Command, filepath.Join(dir, "project"),
		filepath.Join(dir, "agent"), r.model.URL(), "sqlite://"+filepath.Join(dir, "data/magpie.db"))
	for name, text := range map[string]string{
		"magpie.toml": config, "app_secret": r.sim.AppSecret(), "project/attack.sh": attack,
	} {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, []byte(text), 0o600))
		must(t, os.Chown(path, owner, owner))
	}
	must(t, os.Chmod(filepath.Join(dir, "project/attack.sh"), 0o644))

	serve := []string{program, "serve", "--config", filepath.Join(dir, "magpie.toml")}
	run := func() *process {
		cmd := exec.CommandContext(t.Context(), serve[0], serve[1:]...)
		if ordinary {
			cmd = asTheService(t, serve...)
		}
		cmd.Dir = filepath.Join(dir, "home")
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir,
			"MAGPIE_FEISHU_APP_SECRET_FILE=" + filepath.Join(dir, "app_secret"),
		}
		past := r.sim.Connected()
		p := startProcess(t, cmd)
		p.await("magpie is running")
		r.await("a connection", func(v *feishusim.View) bool { return v.Connected() > past })
		return p
	}
	p := run()
	r.calls(bash(fmt.Sprintf("sh attack.sh %s %d >out.txt 2>&1", dir, p.pid())), modelsim.Text("完了"))
	id := r.sim.Say(r.chat, r.user, "试试看")
	r.press(r.approval(r.chat, id, 1), doAllow)
	r.turnDone(r.chat, id)
	out, err := os.ReadFile(filepath.Join(dir, "project/out.txt"))
	must(t, err)
	if !bytes.HasPrefix(out, []byte(fmt.Sprintf("%d\n", strangerID))) || bytes.Contains(out, []byte("CAN ")) ||
		!bytes.HasSuffix(out, []byte("over\n")) {
		t.Errorf("the agent could do this:\n%s", out)
	}
	if caps := regexp.MustCompile(`(?m)^Cap\w+:\s+0*$`).FindAll(out, -1); len(caps) != 4 {
		t.Errorf("the agent has capabilities:\n%s", out)
	}
	mark := regexp.MustCompile(`MAGPIE_PROCESS=(\S+)/`).FindSubmatch(out)
	if mark == nil {
		t.Fatalf("the agent's process IDs are missing:\n%s", out)
	}
	left := func() (list []string) {
		for _, env := range globbed("/proc/[0-9]*/environ") {
			if data, err := os.ReadFile(env); err == nil &&
				bytes.Contains(data, append([]byte("MAGPIE_PROCESS="), mark[1]...)) {
				args, _ := os.ReadFile(filepath.Join(filepath.Dir(env), "cmdline"))
				list = append(list, string(bytes.ReplaceAll(args, []byte{0}, []byte(" "))))
			}
		}
		return list
	}
	sleeps := func(list []string) bool {
		return slices.ContainsFunc(list, func(args string) bool { return strings.HasPrefix(args, "sleep 987") })
	}
	if !sleeps(left()) {
		t.Error("the agent left no process behind")
	}
	if got := r.ask("我叫小明"); got != "好的，小明，我记住了。" {
		t.Errorf("answer %q", got)
	}
	report := r.sim.Upload("a.txt", "text/plain", []byte("heron"))
	sent := r.sim.Send(r.chat, r.user, "file", mustJSON(map[string]string{"file_key": report, "file_name": "a.txt"}))
	r.await("the file to be downloaded", func(v *feishusim.View) bool { return unacked(v, []string{sent}) == 0 })
	r.ask("数到 2")
	files := globbed(filepath.Join(dir, "data/files/*/*"))
	if len(files) != 1 {
		t.Fatalf("received files: %q", files)
	}
	read := exec.CommandContext(t.Context(), "cat", files[0])
	read.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: strangerID, Gid: strangerID}}
	if got, err := read.CombinedOutput(); err != nil || string(got) != "heron" {
		t.Errorf("the agent cannot read the attachment: %v: %s", err, got)
	}
	_ = p.cmd.Process.Kill()
	<-p.done
	p.done = nil

	orphan := exec.Command("sleep", "987")
	orphan.Env = []string{"MAGPIE_PROCESS=" + string(mark[1]) + "/x"}
	orphan.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: strangerID, Gid: strangerID}}
	must(t, orphan.Start())
	p = run()
	if err := orphan.Wait(); err == nil {
		t.Error("the process of an earlier run ended by itself")
	}
	r.until("the leftover processes to end", func() bool { return !sleeps(left()) })
	before := len(r.model.Requests())
	if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
		t.Errorf("answer %q", got)
	}
	if q := r.model.Requests()[before]; len(q.Messages) < 3 {
		t.Errorf("the session was not resumed: %d messages", len(q.Messages))
	}
	p.stop()
	if list := left(); len(list) > 0 {
		t.Errorf("processes are left: %q", list)
	}
}

func globbed(pattern string) []string {
	list, _ := filepath.Glob(pattern)
	return list
}
