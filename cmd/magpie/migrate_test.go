package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/feishusim"
	"magpie/internal/operator/config"
)

// mover is a home folder with the data of cc-connect.
type mover struct {
	*workFolder
}

func newMover(t testing.TB, r *rig) mover {
	t.Helper()
	m := mover{&workFolder{t, t.TempDir()}}
	must(t, os.MkdirAll(filepath.Join(m.dir, ".cc-connect/sessions"), 0o700))
	must(t, os.Mkdir(filepath.Join(m.dir, "work"), 0o700))
	m.write(".cc-connect/config.toml", fmt.Sprintf(`
[[projects]]
name = "app"
admin_from = %q
[projects.agent]
type = "claudecode"
[projects.agent.options]
work_dir = "~/work"
[[projects.platforms]]
type = "feishu"
[projects.platforms.options]
app_id = %q
app_secret = %q
domain = %q
allow_from = %q
`, r.user.OpenID, r.sim.AppID(), r.sim.AppSecret(), r.sim.URL(), r.user.OpenID))
	m.write(".cc-connect/sessions/app_01234567.json", fmt.Sprintf(`{
"sessions": {
  "s1": {"id": "s1", "history": [
    {"role": "user", "content": "服务器的名字是海棠", "timestamp": "2026-05-01T09:00:00+08:00"},
    {"role": "assistant", "content": "记住了。", "timestamp": "2026-05-01T09:00:09+08:00"}]},
  "s2": {"id": "s2", "history": [
    {"role": "user", "content": "我叫小明", "timestamp": "2026-05-02T09:00:00+08:00"},
    {"role": "assistant", "content": "你好，小明。", "timestamp": "2026-05-02T09:00:09+08:00"}]}},
"active_session": {"feishu:%[1]s:%[2]s": "s2"},
"user_sessions": {"feishu:%[1]s:%[2]s": ["s1", "s2"]}}`, r.chat, r.user.OpenID))
	return m
}

// With the first question after the move the agent knows the current conversation of cc-connect, but not one that had
// ended.
func TestAConversationMovesFromCCConnect(t *testing.T) {
	t.Parallel()
	r := makeRig(t, feishusim.Config{})
	m := newMover(t, r)
	var said strings.Builder
	write := magpie(t, m.dir, "migrate", "cc-connect", "--write")
	write.Stdout = &said
	if shown := shownOnTerminal(t, write); !strings.Contains(shown, "\r\x1b[Kimporting [") || !strings.HasSuffix(shown, "\r\x1b[K") {
		t.Errorf("on a terminal it shows %q", shown)
	}
	out := said.String()
	path := filepath.Join(m.dir, ".config/magpie/magpie.toml")
	if !strings.Contains(out, "Wrote "+path+", and 4 new messages") || !strings.Contains(out, "Stop cc-connect first") {
		t.Errorf("it says:\n%s", out)
	}
	c, err := config.Read(path, os.Environ())
	must(t, err)
	c.Feishu.AckTimeout, c.Feishu.NameWait = r.cfg.Feishu.AckTimeout, r.cfg.Feishu.NameWait
	command, env := r.cfg.Claude.Command, r.cfg.Claude.Environ
	r.cfg.Feishu, r.cfg.Access, r.cfg.DB = c.Feishu, c.Access, c.DB
	r.cfg.Claude.Command, r.cfg.Claude.Environ, r.cfg.Claude.Project = command, env, c.Claude.Project
	r.start()
	if got := r.ask("我的名字叫什么？"); got != "你叫小明。" {
		t.Errorf("the answer is %q", got)
	}
	last := r.lastRequest()
	asked := last.LastUser()
	if !strings.Contains(asked, "用户:\n我叫小明") || strings.Contains(asked, "海棠") {
		t.Errorf("the prompt:\n%s", asked)
	}
	r.stop()
	r.clean()
}

// Nothing is written without --write, nothing is overwritten, the other program's files stay, and no secret is shown.
func TestMigrateWritesOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	r := makeRig(t, feishusim.Config{})
	m := newMover(t, r)
	stored := m.read(".cc-connect/config.toml") + m.read(".cc-connect/sessions/app_01234567.json")
	run := func(code int, want string, args ...string) {
		t.Helper()
		out, complaints, got := m.run("", append([]string{"migrate", "cc-connect"}, args...)...)
		if got != code || !strings.Contains(out+complaints, want) {
			t.Errorf("%v: exit code %d, not %d with %q:\n%s%s", args, got, code, want, out, complaints)
		}
		if strings.Contains(out+complaints, r.sim.AppSecret()) {
			t.Errorf("%v shows the secret:\n%s%s", args, out, complaints)
		}
	}
	run(0, "history: 4 messages in 1 chat, 2026-05-01 to 2026-05-02")
	run(0, "Nothing was written.")
	for _, name := range []string{".config", ".local"} {
		if _, err := os.Lstat(filepath.Join(m.dir, name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
	run(0, "4 new messages to", "--write")
	first := m.read(".config/magpie/magpie.toml")
	if info, err := os.Stat(filepath.Join(m.dir, ".config/magpie/magpie.toml")); err != nil ||
		info.Mode().Perm() != 0o600 {
		t.Errorf("the configuration: %v, %v", info, err)
	}
	run(2, "magpie migrate does not change it", "--write")
	run(0, "magpie migrate does not change it")
	run(2, "the database ", "--write", "--config", filepath.Join(m.dir, "other.toml"))
	data := filepath.Join(m.dir, ".local/share/magpie")
	run(0, "0 new messages to", "--write", "--config", filepath.Join(m.dir, "other.toml"), "--data", data)
	if m.read(".config/magpie/magpie.toml") != first ||
		m.read(".cc-connect/config.toml")+m.read(".cc-connect/sessions/app_01234567.json") != stored {
		t.Error("a file was changed")
	}
	store, err := db.OpenReadOnly(t.Context(), db.Config{URL: "sqlite://" + filepath.Join(data, "magpie.db")})
	must(t, err)
	n := 0
	for rec, err := range store.Messages().Export(t.Context(), chat.FeishuChat(r.chat)) {
		must(t, err)
		n++
		if rec.Past != (n <= 2) {
			t.Errorf("message %d belongs to an earlier conversation: %v", n, rec.Past)
		}
	}
	must(t, store.Close())
	if n != 4 {
		t.Errorf("%d messages are in the History", n)
	}
}

// A secret that cannot be read has to be given, and so has the location of a bridge that is not found.
func TestMigrateSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	r := makeRig(t, feishusim.Config{})
	m := newMover(t, r)
	text := strings.Replace(m.read(".cc-connect/config.toml"), r.sim.AppSecret(), "${NOT_SET}", 1)
	m.write(".cc-connect/config.toml", text)
	if _, complaints, code := m.run("", "migrate", "cc-connect", "--write"); code != 2 ||
		!strings.Contains(complaints, "--app-secret-file") {
		t.Errorf("without the secret: exit code %d, %s", code, complaints)
	}
	if out, complaints, code := m.run("given\n", "migrate", "cc-connect", "--write", "--app-secret-file", "-"); code != 0 {
		t.Errorf("with the secret: exit code %d, %s%s", code, out, complaints)
	}
	if text := m.read(".config/magpie/magpie.toml"); !strings.Contains(text, "app_secret = 'given'") {
		t.Errorf("written is\n%s", text)
	}
	if _, complaints, code := m.run("", "migrate", "lark-channel-bridge", "--lang", "zh"); code != 2 ||
		!strings.Contains(complaints, "请用 --from") {
		t.Errorf("without the other bridge: exit code %d, %s", code, complaints)
	}
}

// bytesOf is every file below a folder, by its path.
func bytesOf(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	must(t, fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		files[path] = string(data)
		return err
	}))
	return files
}

// The chats of lark-channel-bridge keep their project and their rule about mentions. Its files are only read.
func TestChatsMoveFromLarkChannelBridge(t *testing.T) {
	t.Parallel()
	m := &workFolder{t, t.TempDir()}
	old := filepath.Join(m.dir, ".lark-channel")
	must(t, os.CopyFS(old, os.DirFS("../../internal/operator/migrate/testdata/lark-channel-bridge")))
	must(t, os.CopyFS(filepath.Join(m.dir, ".claude/projects/-work"),
		os.DirFS("../../internal/operator/migrate/testdata/transcripts")))
	for _, dir := range []string{"work", "docs"} {
		must(t, os.Mkdir(filepath.Join(m.dir, dir), 0o700))
	}
	m.write(".lark-channel/profiles/claude/sessions.json",
		`{"oc_team":{"sessionId":"2b1f3c60-0f49-4a5a-8a61-6f4f5b8c0a02","updatedAt":1}}`)
	before := bytesOf(t, m.dir)
	args := []string{"migrate", "lark-channel-bridge", "--app-secret-file", "-"}
	if out := m.ok("given", args...); !strings.Contains(out, "Nothing was written.") {
		t.Errorf("it says:\n%s", out)
	}
	if diff := cmp.Diff(before, bytesOf(t, m.dir)); diff != "" {
		t.Errorf("without --write: %s", diff)
	}
	m.ok("given", append(args, "--write")...)
	after := bytesOf(t, m.dir)
	for path, text := range before {
		if after[path] != text {
			t.Errorf("%s was changed", path)
		}
	}
	if text := m.read(".config/magpie/magpie.toml"); !strings.Contains(text, "app_id = 'cli_lcb1'") {
		t.Errorf("written is\n%s", text)
	}
	store, err := db.OpenReadOnly(t.Context(),
		db.Config{URL: "sqlite://" + filepath.Join(m.dir, ".local/share/magpie/magpie.db")})
	must(t, err)
	defer func() { must(t, store.Close()) }()
	team, err := store.Chats().Get(t.Context(), chat.FeishuChat("oc_team"))
	must(t, err)
	if team.Settings.Project != "文档" || team.Settings.Mention != "all" {
		t.Errorf("the settings of the group: %+v", team.Settings)
	}
}
