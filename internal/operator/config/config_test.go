package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"magpie/internal/claude/claudetest"
	"magpie/internal/claude/workspace"
	"magpie/internal/i18n"
)

func isHan(r rune) bool { return unicode.Is(unicode.Han, r) }

func writeConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "magpie.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestConfigFromFileAndEnvironment(t *testing.T) {
	path := writeConfig(t, `
[feishu]
app_id = "cli_file"
app_secret = "s"
[claude]
command = "`+claudetest.Command(t)+`"
project = "`+t.TempDir()+`"
keep_alive = "0s"
mcp = "none"
allowed_tools = ["Read", "Bash(go vet ./...)"]
[claude.env]
FOO = "bar"
[context]
mode = "economy"
[memory]
approval = true
[access]
owner = "ou_1"
`)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("from-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(path, []string{
		"MAGPIE_FEISHU_APP_ID=cli_env", "MAGPIE_FEISHU_APP_SECRET_FILE=" + secret, "MAGPIE_CLAUDE_MAX_PROCESSES=9",
		"MAGPIE_CLAUDE_SILENCE_TIMEOUT=90s", "MAGPIE_ACCESS_ALLOW=oc_1, ou_2", "MAGPIE_CONTEXT_MIN_CHARS=7",
		"MAGPIE_LOG_LEVEL=debug", "MAGPIE_REDACT_HISTORY=true",
		"MAGPIE_MEMORY_EMBEDDINGS_KEY_FILE=" + secret, "MAGPIE_MEMORY_EMBEDDINGS_MODEL=m",
		"MAGPIE_MEMORY_EMBEDDINGS_URL=http://127.0.0.1:1/v1/embeddings",
		"MAGPIE_MEMORY_MAX_CHARS=99", "MAGPIE_MEMORY_CAPTURE_GROUP_MEMORY=true",
		"MAGPIE_MEMORY_CAPTURE=true", "MAGPIE_CLAUDE_MCP=github, db",
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ got, want any }{
		{c.Feishu.AppID, "cli_env"}, {c.Feishu.AppSecret, "from-a-file"},
		{c.Claude.MaxProcesses, workspace.AutoCount(9)}, {Defaults().Claude.MaxProcesses, workspace.Auto},
		{c.Claude.MaxTurns, workspace.Auto}, {c.Claude.Silence.Duration, 90 * time.Second},
		{c.Claude.KeepAlive.Duration, time.Duration(0)},
		{c.Claude.MCP, workspace.MCPServers{"github", "db"}}, {Defaults().Claude.MCP, workspace.MCPServers{"all"}},
		{c.Claude.AllowedTools, []string{"Read", "Bash(go vet ./...)"}},
		{c.Claude.Env, map[string]string{"FOO": "bar"}},
		{string(c.Context.Mode), "economy"}, {c.Context.MinChars, 7}, {c.Context.MinUserMessages, 3},
		{c.Memory.EmbeddingsKey, "from-a-file"}, {c.Memory.EmbeddingsModel, "m"},
		{c.Memory.EmbeddingsURL, "http://127.0.0.1:1/v1/embeddings"}, {Defaults().Memory.EmbeddingsURL, ""},
		{c.Memory.MaxChars, 99}, {c.Context.Memory.MaxChars, 1500},
		{c.Memory.CaptureGroup, true}, {c.Memory.Capture, true},
		{Defaults().Memory.Capture, false}, {c.Memory.Approval, true}, {c.Memory.Tools, true},
		{c.Access.Owner, "ou_1"}, {c.Access.Allow, []string{"oc_1", "ou_2"}}, {c.Log.Level, "debug"},
		{c.Redact.History, true}, {Defaults().Redact.History, false}, {c.DB.URL, "sqlite://data/magpie.db"},
	} {
		if !reflect.DeepEqual(tc.got, tc.want) {
			t.Errorf("got %v, want %v", tc.got, tc.want)
		}
	}
}

// A rule that allows more than it seems to is an error at startup, which names an alternative.
func TestARuleThatAllowsTooMuchIsAMistake(t *testing.T) {
	path := writeConfig(t, `
[feishu]
app_id = "cli_file"
app_secret = "s"
[claude]
command = "`+claudetest.Command(t)+`"
project = "`+t.TempDir()+`"
allowed_tools = ["Read", "Bash(git log *)"]
settings = '{"permissions": {"allow": ["Bash(find:*)"]}}'
[access]
deciders = "everybody"
`)
	_, err := Load(path, nil)
	var mistake *Error
	if !errors.As(err, &mistake) {
		t.Fatalf("%v is not a Mistake", err)
	}
	for _, want := range []string{
		`[claude] allowed_tools "Bash(git log *)"`, "--output=FILE", `"Bash(go vet ./...)"`,
		`permissions.allow "Bash(find:*)"`, `[access] deciders "everybody"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %s", err, want)
		}
	}
}

// Every key of every section has an environment variable.
func TestEveryKeyHasAVariable(t *testing.T) {
	sections := reflect.TypeFor[Config]()
	for i := range sections.NumField() {
		s := sections.Field(i)
		if name, ok := s.Tag.Lookup("env"); ok { // a key outside of sections
			if name != "-" && name != strings.ToUpper(s.Tag.Get("toml")) {
				t.Errorf("%s has variable %q", s.Tag.Get("toml"), name)
			}
			continue
		}
		if want := strings.ToUpper(s.Tag.Get("toml")) + "_"; s.Tag.Get("envPrefix") != want {
			t.Errorf("section %s: prefix %q", s.Name, s.Tag.Get("envPrefix"))
		}
		for j := range s.Type.NumField() {
			f := s.Type.Field(j)
			if key := f.Tag.Get("toml"); key != "-" && f.Tag.Get("env") != strings.ToUpper(key) {
				t.Errorf("[%s] %s has variable %q", s.Tag.Get("toml"), key, f.Tag.Get("env"))
			} else if name := f.Tag.Get("env"); key == "-" && name != "" && name != "-" {
				t.Errorf("[%s] %s is for tests only, and has variable %q", s.Tag.Get("toml"), f.Name, name)
			}
		}
	}
}

func TestConfigMistakesAreShown(t *testing.T) {
	for name, tc := range map[string]struct {
		text    string
		environ []string
		want    []string
	}{
		"unknown key": {"[claude]\nprojekt = \"/x\"\n", nil, []string{
			"unknown key", "projekt", "   2| projekt = …",
		}},
		"unknown section": {"[feishoo]\napp_id = \"x\"\n", nil, []string{"feishoo"}},
		"not TOML":        {"[claude\n", nil, []string{"1|"}},
		"wrong type": {
			"[claude]\nmax_processes = \"four\"\n", nil,
			[]string{"max_processes", `must be a whole number, 1 or more, or "auto"`},
		},
		"no list": {
			"[access]\nallow = \"ou_1\"\n", nil, []string{`must be a list, as in ["one", "two"]`, "   2| allow = …"},
		},
		"no section":     {"context = 5\n", nil, []string{"context: wrong type: a whole number", "   1| context = …"}},
		"all and a name": {"[claude]\nmcp = [\"all\", \"db\"]\n", nil, []string{"[claude] mcp", "list of names"}},
		"bad duration":   {"[claude]\nkeep_alive = \"5 minutes\"\n", nil, []string{"keep_alive", "unit"}},
		"empty level":    {"[log]\nlevel = \"\"\n", nil, []string{"[log] level"}},
		"bad top key":    {"", []string{"MAGPIE_SHUTDOWN_TIMEOUT=soon"}, []string{"MAGPIE_SHUTDOWN_TIMEOUT"}},
		"embeddings": {
			"[memory]\nembeddings_url = \"ftp://x\"\n", nil,
			[]string{"[memory] embeddings_url", "[memory] embeddings_model"},
		},
		"negative ages": {
			"shutdown_timeout = \"-1s\"\n[recovery]\nmax_message_age = \"-1h\"\n", nil,
			[]string{"line 1: shutdown_timeout", "line 3: [recovery] max_message_age"},
		},
		"bad variable": {
			"", []string{"MAGPIE_CLAUDE_MAX_PROCESSES=four", "MAGPIE_CLAUDE_SPARE=one", "MAGPIE_MEMORY_TOOLS=perhaps"},
			[]string{
				`MAGPIE_CLAUDE_MAX_PROCESSES: must be a whole number, 1 or more, or "auto"`, "MAGPIE_CLAUDE_SPARE: must be a whole number",
				"MAGPIE_MEMORY_TOOLS: must be true or false",
			},
		},
		"bad value in a variable": {
			"[log]\nlevel = \"loud\"\n", []string{"MAGPIE_LOG_LEVEL=louder"},
			[]string{"\n" + `environment: MAGPIE_LOG_LEVEL: [log] level "louder"`},
		},
		"project of a name": {
			"[projects]\nside = \"/does/not/exist\"\n[projects.web]\npath = \"/does/not/exist\"\n", nil,
			[]string{"line 2: [projects] side: there is no folder", "line 3: [projects] web: there is no folder"},
		},
		"project of any name": {
			"[projects]\n\"店铺\" = \"/does/not/exist\"\n\"my shop\" = \".\"\n", nil,
			[]string{"line 2: [projects] 店铺: there is no folder", "line 3: [projects] my shop: the name must be of letters"},
		},
		"bad port": {
			"[http]\nlisten = \":99999\"\n", nil, []string{`line 2: [http] listen ":99999": the port must be a number from 1 to 65535`},
		},
		"bad duration in a variable": {
			"", []string{"MAGPIE_CLAUDE_KEEP_ALIVE=abc"}, []string{"MAGPIE_CLAUDE_KEEP_ALIVE", `such as "90s"`},
		},
		"unknown variable": {
			"", []string{
				"MAGPIE_FEISHU_APPID=cli_1", "MAGPIE_NONSENSE=1", "MAGPIE_PROCESSES=3", "MAGPIE_TOOLS_OFF=1",
				"MAGPIE_TEST_CLAUDE=x", "MAGPIE_PROCESS=x", "MAGPIE_TOOLS_TOKEN=x",
			},
			[]string{
				"MAGPIE_PROCESSES: there is no such key", "MAGPIE_TOOLS_OFF: there is no such key",
				"MAGPIE_FEISHU_APPID: there is no such key; did you mean MAGPIE_FEISHU_APP_ID?",
				"MAGPIE_NONSENSE: there is no such key; the variable of a key is MAGPIE_<SECTION>_<KEY>",
			},
		},
		"mistyped key":      {"[feishu]\napp_idd = \"x\"\n", nil, []string{"did you mean feishu.app_id?"}},
		"mistyped section":  {"[feishoo]\napp_id = \"x\"\n", nil, []string{"did you mean feishu?"}},
		"wrong section":     {"[feishu]\nowner = \"ou_1\"\n", nil, []string{"it belongs to [access]"}},
		"no section at all": {"owner = \"ou_1\"\n", nil, []string{"it belongs to [access]"}},
		"examples": {
			"[feishu]\napp_id = \"cli_...\"\napp_secret = \"...\"\n[access]\nowner = \"ou_...\"\n", nil,
			[]string{"app_id \"cli_...\" is an example", "app_secret is an example", `[access] owner "ou_..."`},
		},
		"examples in words": {
			"[feishu]\napp_id = \"cli_your_app_id\"\napp_secret = \"YOUR-APP-SECRET\"\n[access]\nowner = \"ou_your_open_id\"\n", nil,
			[]string{"app_id \"cli_your_app_id\" is an example", "app_secret is an example", `[access] owner "ou_your`},
		},
		"a secret to change": {
			"[feishu]\napp_id = \"cli_1\"\napp_secret = \"ChangeMe\"\n", nil, []string{"app_secret is an example"},
		},
		"names for ids": {
			"[access]\nowner = \"xiaoming\"\nadmins = [\"oc_1\"]\nallow = [\"ann\", \"*\"]\ndeny = [\"ou_\"]\n", nil,
			[]string{
				`magpie.toml: [feishu] app_id is empty`, "\n" + `line 5: [access] deny "ou_"`, "\n" + `line 2: [access] owner "xiaoming": must be the ID of a user (ou_…`,
				`line 3: [access] admins "oc_1": must be the ID of a user`,
				`line 4: [access] allow "ann": must be the ID of a user (ou_…), a chat (oc_…)`,
			},
		},
		"numbers out of range": {
			"[context]\nmin_chars = -1\nmax_tokens = 1\ncompact_history = 2.0\n[memory]\nmax_chars = -1\n[budget]\nturn_usd = -1\n" +
				"[http]\nlisten = \"80\"\n[claude]\nspare = -1\nwhile_busy = \"x\"\nmodel = \"a b\"\nsettings = \"{\\\"env\\\": 1}\"\n" +
				"[chat]\nmax_file_size = \"1GB\"\n[access]\nowner = \"ou_1\"\ndeny = [\"ou_1\"]\n[db]\ncache_ttl = \"1s\"\n", nil,
			[]string{
				"[context] min_chars: must be 0 or more", "[context] max_tokens 1: must be at least 500", "[memory] max_chars",
				"[context] compact_history 2: must be more than 0", "[budget] turn_usd: must be 0 (no limit) or more",
				`line 10: [http] listen "80": must be host:port`, "[claude] spare", `[claude] while_busy "x": must be queue or steer`,
				`[claude] model "a b"`, "[chat] max_file_size 1024 MB: Feishu serves files of up to 100 MB", "env: must be an object",
				"[access] deny: the owner is among them", "[db] cache_ttl 1s: must be 24h or more",
			},
		},
		"no project": {
			"[claude]\nproject = \"/does/not/exist\"\n", nil,
			[]string{"[claude] project: there is no folder /does/not/exist: create it, or name another one"},
		},
		"all at once": {"[claude]\ncommand = \"no-such-claude\"\n[log]\nlevel = \"loud\"\nformat = \"xml\"\n" +
			"[db]\nurl = \"mysql://\"\n", nil,
			[]string{"app_id", "app_secret", "[claude] command", "[log] level", "[log] format", "[db] url"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(writeConfig(t, tc.text), tc.environ)
			var bad *Error
			if !errors.As(err, &bad) {
				t.Fatalf("err = %v", err)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not mention %q", err, want)
				}
			}
			for line := range strings.Lines(i18n.ErrorText(i18n.Chinese, err)) {
				if !strings.ContainsFunc(line, isHan) && !strings.Contains(line, "| ") ||
					strings.Contains(line, "must ") {
					t.Errorf("in Chinese it says %q", line)
				}
			}
			for _, word := range []string{"struct field", "strconv", "lstat", "stat /", "configtype."} {
				if strings.Contains(err.Error(), word) {
					t.Errorf("%q mentions the source code: %q", err, word)
				}
			}
			if name == "unknown variable" && (strings.Contains(err.Error(), "TEST_") ||
				strings.Contains(err.Error(), "PROCESS:") || strings.Contains(err.Error(), "TOKEN:")) {
				t.Errorf("%q mentions what the program itself sets", err)
			}
		})
	}
	if _, err := Load("/does/not/exist.toml", nil); err == nil {
		t.Error("a missing file is not reported")
	}
}

// An agent in the folder of the configuration, or of a secret's file, could read the app secret without a question; in
// that of the agents' settings it could change its own permissions.
func TestNoProjectHoldsTheConfiguration(t *testing.T) {
	path := writeConfig(t, "[feishu]\napp_id = \"cli_1\"\napp_secret = \"s\"\n"+
		"[claude]\ncommand = \""+claudetest.Command(t)+"\"\n[access]\nowner = \"ou_1\"\n")
	home := t.TempDir()
	t.Setenv("HOME", home)
	secret := filepath.Join(home, "kept", "secret")
	if err := os.Mkdir(filepath.Dir(secret), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(secret, []byte("s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(t.TempDir(), "settings.json")
	if err := os.WriteFile(settings, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const want = "[claude] project: the agent cannot work in a folder that holds Magpie's configuration or secret"
	for project, allowed := range map[string]bool{
		filepath.Dir(path): false, filepath.Dir(secret): false, filepath.Dir(settings): false, t.TempDir(): true,
	} {
		_, err := Load(path, []string{
			"MAGPIE_CLAUDE_PROJECT=" + project, "MAGPIE_FEISHU_APP_SECRET_FILE=~/kept/secret",
			"MAGPIE_CLAUDE_SETTINGS=" + settings,
		})
		if allowed != (err == nil) || !allowed && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", project, err)
		}
	}
}

// An error next to a secret must not print it: the message goes to a terminal or a journal.
func TestConfigMistakesDoNotShowSecrets(t *testing.T) {
	for name, text := range map[string]string{
		"unknown key next to it":  "[feishu]\napp_id = \"cli_1\"\napp_secret = \"canary\"\napp_sekret = \"x\"\n",
		"syntax error next to it": "[feishu]\napp_id = \"cli_1\"\napp_secret = \"canary\"\nbase_url = \n",
		"syntax error in it":      "[feishu]\napp_secret = \"canary\n",
		"wrong section":           "[feishoo]\napp_id = \"cli_1\"\napp_secret = \"canary\"\n",
		"misspelt itself":         "[feishu]\napp_secrett = \"canary\"\n",
		"in the environment":      "[claude]\nmodle=\"x\"\n[claude.env]\nANTHROPIC_API_KEY = \"canary\"\n",
	} {
		if _, err := Load(writeConfig(t, text), nil); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
	address := "[memory]\nembeddings_url = \"https://u:canary@host/v1\"\nembeddings_key = \"canary\"\n"
	if _, err := Load(writeConfig(t, address), nil); err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("address: %v", err)
	}
	_, err := Load(writeConfig(t, ""), []string{"MAGPIE_CLAUDE_ENV=ANTHROPIC_API_KEY:canary"})
	if err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("variable: %v", err)
	}
}

// ~ is expanded as in a shell, wherever a path may be given. The default project is created.
func TestHomeFoldersAreExpanded(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	text := "[feishu]\napp_id = \"cli_1\"\napp_secret = \"s\"\n[claude]\ncommand = \"" + claudetest.Command(t) + "\"\n"
	c, err := Load(writeConfig(t, text), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(home, "magpie")
	if c.Claude.Project != want {
		t.Errorf("the default project is %s, want %s", c.Claude.Project, want)
	}
	if _, err := os.Stat(want); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the default project was created by reading the configuration: %v", err)
	}
	if err := c.MakeDefaultProject(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(want); err != nil || !info.IsDir() {
		t.Errorf("the default project was not created: %v", err)
	}
	if err := os.WriteFile(filepath.Join(home, "secret"), []byte("s3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, short := range []string{"~", "$HOME", "${HOME}"} {
		c, err := Read(writeConfig(t, "[claude]\ncommand = \""+short+"/bin/claude\"\nsettings = \""+short+"/s.json\"\n"+
			"project = \""+short+"/work\"\n[projects]\nweb = \""+short+"/web\"\n"+
			"[db]\nurl = \"sqlite://"+short+"/data/magpie.db\"\n"),
			[]string{"MAGPIE_FEISHU_APP_SECRET_FILE=" + short + "/secret"})
		if err != nil {
			t.Fatal(err)
		}
		got := []string{
			c.Claude.Command, c.Claude.Settings, c.Claude.Project, c.Projects["web"].Path, c.DB.URL, c.Feishu.AppSecret,
		}
		want := []string{
			home + "/bin/claude", home + "/s.json", home + "/work", home + "/web", "sqlite://" + home + "/data/magpie.db", "s3",
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", short, got, want)
		}
	}
	if got := ExpandHome("~ann/work"); got != "~ann/work" {
		t.Errorf("another user's home became %s", got)
	}
}

// What belongs to this machine lies in the folder of the database, or in the named one, which guards the database, too.
func TestTheDataFolder(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	if err := errors.Join(
		os.Mkdir(filepath.Join(home, "a"), 0o700), os.Mkdir(filepath.Join(home, "b"), 0o700),
		os.Symlink(filepath.Join(home, "b"), filepath.Join(home, "link")),
		os.Symlink(filepath.Join(home, "a"), filepath.Join(home, "b", "out")),
	); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ data, url, want, mistake string }{
		"beside the database":      {"", "sqlite://~/a/magpie.db", "a", ""},
		"named":                    {"~/b", "sqlite://~/b/magpie.db", "b", ""},
		"above the database":       {"~/b", "sqlite://~/b/db/magpie.db", "b", ""},
		"by a link":                {"~/link", "sqlite://~/link/new.db", "b", ""},
		"outside by a link":        {"~/b", "sqlite://~/b/out/new.db", "b", "~/b"},
		"outside":                  {"~/b", "sqlite://~/a/magpie.db", "b", "~/b"},
		"a name that begins alike": {"~/b", "sqlite://~/b2/magpie.db", "b", "~/b"},
	} {
		t.Run(name, func(t *testing.T) {
			text := "data = \"" + tc.data + "\"\n[feishu]\napp_id = \"cli_1\"\napp_secret = \"s\"\n" +
				"[claude]\ncommand = \"" + claudetest.Command(t) + "\"\n[db]\nurl = \"" + tc.url + "\"\n"
			path := writeConfig(t, text)
			c, err := Read(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := c.DataFolder(); err != nil || got != filepath.Join(home, tc.want) {
				t.Errorf("the data folder is %s, %v", got, err)
			}
			guard := c.BridgeConfig().Projects.Guard
			if guard.CheckDir(filepath.Join(home, tc.want, "work")) == nil {
				t.Error("agents may work in the data folder")
			}
			_, err = Load(path, nil)
			if tc.mistake == "" && err != nil || tc.mistake != "" && (err == nil || !strings.Contains(err.Error(), home+tc.mistake[1:])) {
				t.Errorf("got %v, want a mistake: %t", err, tc.mistake != "")
			}
		})
	}
}

// Without a home folder, the keys that need one are named, and nothing is created in the working folder.
func TestWithoutAHomeFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("HOME", "")
	text := "[feishu]\napp_id = \"cli_1\"\napp_secret = \"s\"\n[claude]\ncommand = \"sh\"\n"
	_, err := Load(writeConfig(t, text), nil)
	if got := i18n.ErrorText(i18n.Chinese, err); !strings.Contains(got, "[claude] project：没有设置环境变量 HOME") {
		t.Errorf("%v, %s", err, got)
	}
	text += "project = \"" + t.TempDir() + "\"\n"
	if _, err := Load(writeConfig(t, text), nil); err != nil {
		t.Errorf("a project that needs no home folder: %v", err)
	}
	_, err = Load(writeConfig(t, text+"[projects]\nweb = \"~/web\"\n[db]\nurl = \"sqlite://~/x.db\"\n"), nil)
	for _, want := range []string{"line 8: [projects] web: ", "line 10: [db] url: "} {
		if err == nil || !strings.Contains(i18n.ErrorText(i18n.English, err), want+"the variable HOME is not set") {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

// All independent mistakes are reported at once, whatever their kind.
func TestAllMistakesAtOnce(t *testing.T) {
	text := `shutdown_timeout = "soon"
node = 5
[feishu]
app_idd = "cli_1"
app_secret = "..."
base_url = wechat
topics = "yes"
topics = true
[claude]
command = "sh"
project = "/does/not/exist"
models = [
  1,
]
max_turns = 0
env = {A = 1}
[log
level = "loud"
[access]
owner = "xiaoming"
`
	environ := []string{"MAGPIE_FEISHUU_APP_ID=cli_1", "MAGPIE_MEMORY_TOOLS=perhaps", "MAGPIE_MEMORY_MAX_CHARS=-1"}
	want := []string{
		"line 1: shutdown_timeout: must be a number and a unit", "line 2: node: must be text in quotes",
		"line 4: unknown key feishu.app_idd; did you mean feishu.app_id?", "line 5: [feishu] app_secret is an example",
		"line 6: this value is not valid", "line 7: [feishu] topics: must be true or false",
		"line 11: [claude] project: there is no folder",
		"line 13: [claude] models: must be text in quotes", "line 15: [claude] max_turns",
		"line 16: [claude] env", "line 17: the name of a section must be in brackets",
		"MAGPIE_FEISHUU_APP_ID: there is no such key", "MAGPIE_MEMORY_TOOLS: must be true or false",
		"MAGPIE_MEMORY_MAX_CHARS: [memory] max_chars",
	}
	_, err := Load(writeConfig(t, text), environ)
	checkMistakes(t, err, want, []string{"line 8", "app_id is empty", "line 20"})

	// With the section's name corrected, its keys can be parsed.
	_, err = Load(writeConfig(t, strings.Replace(text, "[log\n", "[log]\n", 1)), environ)
	want = append(slices.DeleteFunc(want, func(s string) bool { return strings.Contains(s, "line 17") }),
		`line 18: [log] level "loud"`,
		`line 20: [access] owner "xiaoming"`)
	checkMistakes(t, err, want, []string{"app_id is empty", "base_url is not"})

	for name, text := range map[string]string{
		"a list that is not closed": "[claude]\nmodels = [\"a\"\nspare = \"x\"\nmax_turns = 2\n",
		"a list without a sign":     "[claude]\nmodels [\n\"a\",\n]\nspare = 1\n",
		"text of several lines":     "[claude]\nmodel = \"\"\"a\nspare = \"x\"\n",
	} {
		_, err := Load(writeConfig(t, text), nil)
		if err == nil || strings.Count(err.Error(), "line ") != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// checkMistakes checks that an error contains these parts once, and others not at all.
func checkMistakes(t *testing.T, err error, want, not []string) {
	t.Helper()
	if err == nil {
		t.Fatal("there is no mistake")
	}
	for _, w := range want {
		if strings.Count(err.Error(), w) != 1 {
			t.Errorf("%q is not said once:\n%v", w, err)
		}
	}
	for _, n := range not {
		if strings.Contains(err.Error(), n) {
			t.Errorf("%q follows from another mistake:\n%v", n, err)
		}
	}
}

// A command that needs a database does not take one from the folder in which it was started.
func TestWithoutAConfigurationThereIsNoDatabase(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	if _, err := ReadForDatabase("", nil); !errors.Is(err, ErrNotFound) {
		t.Errorf("err = %v, want %v", err, ErrNotFound)
	}
	if _, err := ReadForDatabase("", []string{"MAGPIE_DB_URL=sqlite:///elsewhere.db"}); err != nil {
		t.Errorf("a database named by a flag: %v", err)
	}
	if err := os.MkdirAll("data", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("data/magpie.db", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadForDatabase("", nil); err != nil {
		t.Errorf("an existing database: %v", err)
	}
}
