package migrate

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/internal/i18n"
	"magpie/internal/operator/config"
)

// homeOf is a home folder with the files of another bridge, the CLI's transcripts, and working folders.
func homeOf(t *testing.T, stored, folder string) string {
	t.Helper()
	home := t.TempDir()
	must(t, os.CopyFS(filepath.Join(home, folder), os.DirFS(filepath.Join("testdata", stored))))
	must(t, os.CopyFS(filepath.Join(home, ".claude/projects/-work"), os.DirFS("testdata/transcripts")))
	for _, dir := range []string{"work", "docs", "data"} {
		must(t, os.Mkdir(filepath.Join(home, dir), 0o700))
	}
	return home
}

func options(home string, vars ...string) Options {
	return Options{
		Config: filepath.Join(home, ".config/magpie/magpie.toml"), Data: filepath.Join(home, "data"), Lang: i18n.English,
		Environ: append([]string{"HOME=" + home}, vars...),
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// history is the imported history, a message a line.
func history(f *Found) (lines []string) {
	for r := range f.Records() {
		conversation := "now"
		if r.Past {
			conversation = fmt.Sprint(r.Epoch)
		}
		lines = append(lines, strings.Join([]string{
			strings.TrimPrefix(r.Key.String(), "feishu:chat:"), string(r.Kind), conversation,
			r.Time.Format("0102 150405"), string(r.Role), r.Actor.ID + r.Actor.Name, r.Text,
		}, " | "))
	}
	return lines
}

// written is the configuration, with the home folder as ~.
func written(t *testing.T, f *Found, home string) string {
	t.Helper()
	data, err := f.Config()
	must(t, err)
	c := config.Defaults()
	must(t, config.Decode(data, &c))
	_, text, _ := strings.Cut(string(data), "\n\n")
	return strings.ReplaceAll(text, home, "~")
}

// noted fails the test unless there is one note with each of the words.
func noted(t *testing.T, f *Found, words ...string) {
	t.Helper()
	for _, w := range words {
		if !slices.ContainsFunc(f.Skipped, func(n string) bool { return strings.Contains(n, w) }) {
			t.Errorf("no note about %q:\n%s", w, strings.Join(f.Skipped, "\n"))
		}
	}
}

// atDocs makes the agent of cc-connect's second project work in another folder, in one chat.
func atDocs(t *testing.T, home string) {
	t.Helper()
	dir := filepath.Join(home, ".cc-connect/projects")
	must(t, os.Mkdir(dir, 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "产品 文档.state.json"), []byte(`{"work_dir_override": "~/docs"}`), 0o600))
}

func TestFromCCConnect(t *testing.T) {
	t.Parallel()
	home := homeOf(t, "cc-connect", ".cc-connect")
	atDocs(t, home)
	f, err := CCConnect(options(home, "CC_APP_SECRET=app-secret"))
	must(t, err)
	want := `[feishu]
app_id = 'cli_cc1'
app_secret = 'app-secret'

[chat]
lang = 'zh'
group_mention = 'all'

[claude]
project = '~/work'
model = 'claude-sonnet-4-20250514'
effort = 'high'
permission_mode = 'acceptEdits'

[access]
admins = ['ou_admin']
allow = ['ou_a', 'ou_b', 'oc_docs']

[projects]
'产品-文档' = '~/docs'

[db]
url = 'sqlite://~/data/magpie.db'
`
	if diff := cmp.Diff(want, written(t, f, home)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		"oc_solo | group | now | 0503 010000 | user | ou_c | 把版本改成 2.0",
		"oc_solo | group | now | 0503 010002 | assistant |  | 好的，\n\n已经改好。",
		"oc_team | group | 0 | 0501 010000 | user | ou_a小明 | 先看看日志",
		"oc_team | group | 0 | 0501 010020 | assistant |  | 日志没有错误。",
		"oc_team | group | now | 0502 010000 | user | ou_a小明 | 我叫小明",
		"oc_team | group | now | 0502 010005 | user | ou_b | 我是小红",
		"oc_team | group | now | 0502 010010 | assistant |  | 你好，小明。",
		"oc_team | group | now | 0502 010010 | user | ou_a小明 | 部署到哪里？",
	}, history(f)); diff != "" {
		t.Error(diff)
	}
	noted(t, f, "commands, webhook", `other platforms, "telegram"`, `["someone@example.com"] (1 in all)`, "allow_chat",
		"allowed_tools", "model provider", `run_as_user = "coder"`, "had a separate conversation",
		"conversations in topics (1)", "conversations without a chat (1)")
	again, err := CCConnect(options(home, "CC_APP_SECRET=app-secret"))
	must(t, err)
	ids := func(f *Found) (list []string) {
		for r := range f.Records() {
			list = append(list, r.ID)
		}
		return list
	}
	if diff := cmp.Diff(ids(f), ids(again)); diff != "" ||
		len(slices.Compact(slices.Sorted(slices.Values(ids(f))))) != 8 {
		t.Errorf("the ids are not the same, or not unique: %v %s", ids(f), diff)
	}
	showsNoSecret(t, f)
}

// showsNoSecret fails the test if the report contains a secret of the test data.
func showsNoSecret(t *testing.T, f *Found) {
	t.Helper()
	for _, secret := range []string{"app-secret", "hook-secret", "sk-provider-secret", "telegram-secret"} {
		if strings.Contains(f.String(), secret) {
			t.Errorf("%s is shown:\n%s", secret, f)
		}
	}
}

func TestFromLarkChannelBridge(t *testing.T) {
	t.Parallel()
	home := homeOf(t, "lark-channel-bridge", ".lark-channel")
	seal(t, filepath.Join(home, ".lark-channel/profiles/claude"), "app-cli_lcb1", "app-secret")
	f, err := LarkChannelBridge(options(home))
	must(t, err)
	want := `[feishu]
app_id = 'cli_lcb1'
app_secret = 'app-secret'
base_url = 'lark'

[claude]
project = '~/work'

[access]
admins = ['ou_admin']
allow = ['ou_a', 'ou_b', 'oc_team']

[projects]
'文档' = '~/docs'

[db]
url = 'sqlite://~/data/magpie.db'
`
	if diff := cmp.Diff(want, written(t, f, home)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		"oc_p2p | p2p | 0 | 0501 010000 | user | ou_a小明 | 昨天的事算了",
		"oc_p2p | p2p | 0 | 0501 010005 | assistant |  | 好。",
		"oc_p2p | p2p | now | 0502 010000 | user | ou_a小明 | 我叫小明",
		"oc_p2p | p2p | now | 0502 010005 | assistant |  | 你好，小明。",
		"oc_p2p | p2p | now | 0502 010009 | user | ou_a | 旧版本的问题",
		"oc_team:thread:omt_1 | group | now | 0502 020000 | user | ou_b小红 | 发布了吗？ <b>",
		"oc_team:thread:omt_1 | group | now | 0502 020005 | assistant |  | 已发布。",
	}, history(f)); diff != "" {
		t.Error(diff)
	}
	noted(t, f, `"codex" uses a different app`, "bypassPermissions", "allowedUsers", `the folder "/"`,
		"4d3f5e82-2f6b-4c7c-8c83-8f6f7dae2c04", "conversations without a chat (1)", "settings of chats (2)")
	showsNoSecret(t, f)

	o := options(home, "LCB_APP_SECRET=of the environment")
	o.Name = "codex"
	f, err = LarkChannelBridge(o)
	must(t, err)
	if text := written(t, f, home); !strings.Contains(text, "app_secret = 'of the environment'") ||
		!strings.Contains(text, "permission_mode = 'acceptEdits'") {
		t.Errorf("from the other profile:\n%s", text)
	}
}

// Settings of a chat are imported with it.
func TestChatsKeepTheirSettings(t *testing.T) {
	t.Parallel()
	home := homeOf(t, "lark-channel-bridge", ".lark-channel")
	dir := filepath.Join(home, ".lark-channel/profiles/claude")
	must(t, os.WriteFile(filepath.Join(dir, "sessions.json"),
		[]byte(`{"oc_team":{"sessionId":"2b1f3c60-0f49-4a5a-8a61-6f4f5b8c0a02","updatedAt":1}}`), 0o600))
	o := options(home)
	o.Secret = "given"
	f, err := LarkChannelBridge(o)
	must(t, err)
	i := slices.IndexFunc(f.Chats, func(c Chat) bool { return c.Key.ID == "oc_team" })
	if i < 0 || f.Chats[i].Project != "文档" || f.Chats[i].Mention != "all" {
		t.Errorf("the chats: %+v", f.Chats)
	}
	if !strings.Contains(written(t, f, home), "app_secret = 'given'") {
		t.Error("the given secret is not used")
	}
}

// Versions before 2 had no profiles and kept everything in one folder.
func TestFromAnEarlyLarkChannelBridge(t *testing.T) {
	t.Parallel()
	home := homeOf(t, "lark-channel-bridge/profiles/claude", ".lark-channel")
	for text, want := range map[string]string{
		`{"app":{"id":"cli_old","secret":"${OLD}","tenant":"feishu"}}`: "app_secret = 'variable'",
		`{"accounts":{"app":{"id":"cli_old","secret":{"source":"file","id":"` + home + `/secret"},"tenant":"feishu"}},
		  "preferences":{"requireMentionInGroup":false,"access":{"allowedUsers":["ou_x"]}}}`: "app_secret = 'of a file'",
		`{"accounts":{"app":{"id":"cli_old","secret":"plain","tenant":"lark"}}}`: "app_secret = 'plain'",
	} {
		must(t, os.WriteFile(filepath.Join(home, ".lark-channel/config.json"), []byte(text), 0o600))
		must(t, os.WriteFile(filepath.Join(home, "secret"), []byte("of a file\n"), 0o600))
		f, err := LarkChannelBridge(options(home, "OLD=variable"))
		must(t, err)
		got := written(t, f, home)
		if !strings.Contains(got, want) || len(history(f)) != 7 {
			t.Errorf("%s gives\n%s\n%s", text, got, history(f))
		}
		more := strings.Contains(got, "allow = ['ou_x']") && strings.Contains(got, "group_mention = 'all'")
		if strings.Contains(text, "ou_x") != more {
			t.Errorf("%s gives\n%s", text, got)
		}
	}
}

// Whatever the files contain, the problem is reported, no secret is shown, nothing else is read, and nobody gets
// access.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	const project = `
[[projects]]
name = %q
[projects.agent]
type = "claudecode"
[projects.agent.options]
work_dir = %q
mode = %q
[[projects.platforms]]
type = "feishu"
[projects.platforms.options]
app_id = "cli_x"
app_secret = "hidden-value"
allow_from = "*"
`
	profile := func(more string) string {
		return `{"schemaVersion":2,"activeProfile":"claude","profiles":{"claude":{"accounts":{"app":
			{"id":"cli_x","secret":"hidden-value","tenant":"feishu"}}` + more + `}}}`
	}
	const sessions, profiles = ".cc-connect/sessions/", ".lark-channel/profiles/claude/"
	cc := func(name, dir, mode string) string { return fmt.Sprintf(project, name, dir, mode) }
	type files map[string]string
	for name, tc := range map[string]struct {
		config       string // of lark-channel-bridge if it is JSON
		also         files
		fails, notes string
	}{
		"empty":         {config: " ", fails: "has no project with a Feishu"},
		"empty JSON":    {config: "{", fails: "line 1: not JSON"},
		"empty object":  {config: "{}", fails: "has no project with a Feishu"},
		"broken":        {config: "x = 1\napp_secret = hidden-value\n", fails: "line 2"},
		"broken JSON":   {config: "{\n\"secret\": \"hidden-value\",\n}", fails: "line 3: not JSON"},
		"wrong type":    {config: "projects = 'hidden-value'\n", fails: "line 1"},
		"wrong JSON":    {config: `{"profiles":["hidden-value"]}`, fails: "profiles: must be object, not array"},
		"wrong options": {config: strings.Replace(cc("a", "", ""), `"cli_x"`, "[1]", 1), fails: "has no project with a Feishu"},
		"not an app":    {config: strings.Replace(cc("a", "", ""), `cli_x`, `\u001b[2Jx`, 1), fails: "is not an App ID"},

		"open":     {config: cc("a", "", ""), notes: "everybody could use the bot"},
		"team":     {config: profile(`,"mode":"team"`), notes: "everybody could use the bot"},
		"yolo":     {config: cc("a", "", "yolo"), notes: "bypassPermissions"},
		"odd mode": {config: cc("a", "", "\x1b[2J"), notes: "no such mode"},
		"root":     {config: cc("a", "/", ""), notes: "the root of the file system"},
		"home":     {config: cc("a", "~", ""), notes: "home folder"},
		"data":     {config: cc("a", "~/data", ""), notes: "keeps its data"},
		"relative": {config: cc("a", "../x", ""), notes: "is a relative path"},

		"path as name":    {config: cc("../../stolen", "", ""), also: files{"stolen.json": store("stolen")}},
		"pattern as name": {config: cc(".*", "", ""), also: files{sessions + "other.json": store("stolen")}},
		"odd sessions": {
			config: cc("a", "", ""), also: files{sessions + "a.json": `{"sessions":[1]}`},
			notes: "sessions: must be object, not array",
		},
		"deep": {
			config: cc("a", "", ""), also: files{sessions + "a.json": strings.Repeat(`{"sessions":`, 20000)},
			notes: "cannot be read",
		},
		"odd keys": {
			config: cc("a", "", ""), also: files{sessions + "a.json": strings.ReplaceAll(store("x"), "oc_1", "oc_ \\u200b")},
			notes: "conversations without a chat (1)",
		},

		"profile's name": {config: strings.ReplaceAll(profile(""), `"claude"`, `"../.."`), fails: `has no "../.."`},
		"session's id": {
			config: profile(""), notes: `session "../../../stolen"`, also: files{
				"stolen.jsonl":             "{}",
				profiles + "sessions.json": `{"oc_1":{"sessionId":"../../../stolen","updatedAt":1}}`,
			},
		},
		"another program's secret": {
			config: strings.Replace(profile(`,"secrets":{"providers":{"default":{"source":"exec","command":"touch","args":["x"]}}}`),
				`"hidden-value"`, `{"source":"exec","id":"x"}`, 1),
			notes: "secret cannot be read",
		},
		"odd secret": {config: strings.Replace(profile(""), `"hidden-value"`, `[1]`, 1), notes: "neither text nor a reference"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			read, all := CCConnect, files{"work/x": "", "data/x": "", ".cc-connect/config.toml": tc.config}
			if strings.HasPrefix(tc.config, "{") {
				read, all[".lark-channel/config.json"] = LarkChannelBridge, tc.config
			}
			maps.Copy(all, tc.also)
			for path, text := range all {
				must(t, os.MkdirAll(filepath.Dir(filepath.Join(home, path)), 0o700))
				must(t, os.WriteFile(filepath.Join(home, path), []byte(text), 0o600))
			}
			f, err := read(options(home))
			said := fmt.Sprint(err)
			if err == nil {
				said = f.String()
				noted(t, f, tc.notes)
				if len(f.file.Access.Allow)+len(f.file.Access.Admins) > 0 ||
					strings.Contains(strings.Join(history(f), ""), "stolen") {
					t.Errorf("somebody gets access, or a foreign file was read: %+v %v", f.file.Access, history(f))
				}
			} else if !errors.As(err, new(*config.Error)) || tc.fails == "" {
				t.Error(err)
			}
			if !strings.Contains(said, tc.fails) {
				t.Errorf("it reports %s, and not %s", said, tc.fails)
			}
			if strings.Contains(said, "hidden-value") || strings.ContainsAny(said, "\x1b\u200b") {
				t.Errorf("it shows what must stay hidden: %q", said)
			}
		})
	}
}

// store is a file with sessions of cc-connect and a message.
func store(text string) string {
	return `{"sessions":{"s1":{"history":[{"role":"user","content":"` + text + `","timestamp":"2026-05-01T09:00:00Z"}]}},` +
		`"active_session":{"feishu:oc_1:ou_1":"s1"},"user_sessions":{"feishu:oc_1:ou_1":["s1"]}}`
}

// Without the other bridge, the error says how to name its configuration.
func TestNothingIsThere(t *testing.T) {
	t.Parallel()
	readers := map[string]func(Options) (*Found, error){"cc-connect": CCConnect, "lark-channel": LarkChannelBridge}
	for name, read := range readers {
		if _, err := read(options(t.TempDir())); err == nil ||
			!strings.Contains(err.Error(), "configuration with --from") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A pipe would block, and a huge file would exhaust the memory.
func TestOnlyRegularFilesAreRead(t *testing.T) {
	t.Parallel()
	home := homeOf(t, "cc-connect", ".cc-connect")
	sessions := filepath.Join(home, ".cc-connect/sessions")
	must(t, syscall.Mkfifo(filepath.Join(sessions, "my-app.json"), 0o600))
	must(t, os.Truncate(filepath.Join(sessions, "my-app_0a1b2c3d.json"), largestStore+1))
	f, err := CCConnect(options(home))
	must(t, err)
	noted(t, f, "it is not a regular file", "the file is too large", "--app-secret-file")
	if _, err := f.Config(); err == nil {
		t.Error("a configuration without a secret is given")
	}
	must(t, os.Remove(filepath.Join(home, ".cc-connect/config.toml")))
	must(t, syscall.Mkfifo(filepath.Join(home, ".cc-connect/config.toml"), 0o600))
	if _, err := CCConnect(options(home)); err == nil || !strings.Contains(err.Error(), "it is not a regular file") {
		t.Errorf("of a pipe: %v", err)
	}
}

// Two apps need two configurations, so the wanted one has to be named.
func TestSeveralAppsOfCCConnect(t *testing.T) {
	t.Parallel()
	home := homeOf(t, "cc-connect", ".cc-connect")
	atDocs(t, home)
	path := filepath.Join(home, ".cc-connect/config.toml")
	data, err := os.ReadFile(path)
	must(t, err)
	i := strings.LastIndex(string(data), "cli_cc1")
	must(t, os.WriteFile(path, []byte(string(data[:i])+"cli_cc2"+string(data[i+7:])), 0o600))
	o := options(home, "CC_APP_SECRET=app-secret")
	if _, err := CCConnect(o); err == nil || !strings.Contains(err.Error(), `--project: "my-app", "产品 文档"`) {
		t.Errorf("without a name: %v", err)
	}
	o.Name = "产品 文档"
	f, err := CCConnect(o)
	must(t, err)
	noted(t, f, `"my-app" uses a different app`)
	if text := written(t, f, home); !strings.Contains(text, "cli_cc2") ||
		!strings.Contains(text, "project = '~/docs'") {
		t.Errorf("with a name:\n%s", text)
	}
	o.Name = "none"
	if _, err := CCConnect(o); err == nil || !strings.Contains(err.Error(), `has no "none". It has: "my-app"`) {
		t.Errorf("with a wrong name: %v", err)
	}
}
