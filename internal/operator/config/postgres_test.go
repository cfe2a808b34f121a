package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"magpie/contextmgr/redact"
	"magpie/db/dsn"
	"magpie/internal/i18n"
)

const inPostgres = "[feishu]\napp_id = \"cli_1\"\napp_secret = \"s\"\n[claude]\ncommand = \"sh\"\n"

// With PostgreSQL the data folder is named, and everything that otherwise lies beside the database lies in it.
func TestTheDataFolderWithPostgres(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	const url = "[db]\nurl = \"postgres://magpie@127.0.0.1/magpie\"\n"
	c, err := Load(writeConfig(t, inPostgres+url), nil)
	if !errors.Is(err, dsn.ErrNoDataFolder) {
		t.Errorf("without a data folder: %v", err)
	}
	if data, err := c.DataFolder(); !errors.Is(err, dsn.ErrNoDataFolder) {
		t.Errorf("the data folder is %s, %v", data, err)
	}
	c, err = Load(writeConfig(t, "data = \"~/data\"\nnode = \"a\"\n"+inPostgres+url), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(home, "data")
	d := c.DBConfig()
	if data, err := c.DataFolder(); err != nil || data != want || d.Data != want || d.Node != "a" {
		t.Errorf("the data folder is %s, %v, that of the database %s, its node %s", data, err, d.Data, d.Node)
	}
	outgoing, private, err := c.OutgoingFiles()
	if err != nil || outgoing != filepath.Join(want, "outgoing") {
		t.Errorf("files are sent from %s, %v", outgoing, err)
	}
	for _, path := range []string{want, filepath.Join(want, "files"), filepath.Join(want, "agents"), filepath.Join(home, ".pgpass")} {
		if !slices.Contains(private, path) {
			t.Errorf("%s is not private: %v", path, private)
		}
	}
	guard := c.BridgeConfig().Projects.Guard
	if guard.CheckDir(filepath.Join(want, "work")) == nil {
		t.Error("agents may work in the data folder")
	}
}

// Passwords of PostgreSQL are secrets wherever they come from, and no agent gets one or the URL.
func TestPasswordsOfPostgres(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	named := filepath.Join(t.TempDir(), "url")
	if err := os.WriteFile(named, []byte("postgres://magpie:correct-horse@127.0.0.1/magpie\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	passfile := filepath.Join(t.TempDir(), "passwords")
	if err := os.WriteFile(passfile, []byte("*:*:*:*:correct-horse\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	inFile := func(url string) string { return "data = \"~/data\"\n" + inPostgres + "[db]\nurl = \"" + url + "\"\n" }
	for name, tc := range map[string]struct {
		text    string
		environ []string
		private string // a file
	}{
		"in the URL":           {text: inFile("postgres://magpie:correct-horse@127.0.0.1/magpie")},
		"percent-encoded":      {text: inFile("postgres://magpie:correct%2Dhorse@127.0.0.1/magpie")},
		"a parameter":          {text: inFile("postgres://magpie@127.0.0.1/magpie?password=correct-horse")},
		"of the key":           {text: inFile("postgres://magpie@127.0.0.1/magpie?sslpassword=correct-horse")},
		"in a variable":        {text: inFile(""), environ: []string{"MAGPIE_DB_URL=postgres://magpie:correct-horse@127.0.0.1/magpie"}},
		"in a file":            {text: inFile(""), environ: []string{"MAGPIE_DB_URL_FILE=" + named}, private: named},
		"PostgreSQL's own":     {text: inFile("postgres://magpie@127.0.0.1/magpie"), environ: []string{"PGPASSWORD=correct-horse"}},
		"with a password file": {text: inFile("postgres://magpie@127.0.0.1/magpie?passfile=" + passfile), environ: []string{"PGPASSFILE=" + passfile}, private: passfile},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Load(writeConfig(t, tc.text), append(tc.environ, "PATH="+os.Getenv("PATH")))
			if err != nil {
				t.Fatal(err)
			}
			known := redact.NewKnown(c.Secrets())
			for _, s := range []string{"correct-horse", c.DB.URL} {
				if got := known.Text("password " + s + " of magpie"); strings.Contains(got, "correct") {
					t.Errorf("a log line has %q", got)
				}
			}
			if d := c.DBConfig(); d.URL != c.DB.URL || tc.private != passfile && !strings.Contains(d.URL+d.Password, "correct") {
				t.Errorf("the password does not reach the database: %q", d.Password)
			}
			if _, private, err := c.OutgoingFiles(); err != nil || tc.private != "" && !slices.Contains(private, tc.private) {
				t.Errorf("private files: %v, %v", private, err)
			}
			agent, err := c.Claude.AgentOf("")
			if err != nil {
				t.Fatal(err)
			}
			for name, value := range agent.Env {
				if strings.Contains(value, "correct") || strings.HasPrefix(name, "PG") || strings.HasPrefix(name, "MAGPIE_DB") {
					t.Errorf("an agent gets %s=%s", name, value)
				}
			}
			private := PrivateVariables(tc.environ)
			for _, kv := range tc.environ {
				if name, _, _ := strings.Cut(kv, "="); strings.Contains(kv, "correct") && !slices.Contains(private, name) {
					t.Errorf("programs that are started inherit %s", name)
				}
			}
		})
	}
}

// A mistake in the URL is located and shows no password, in the file and in the environment.
func TestAMistakeInTheURLOfPostgres(t *testing.T) {
	const url = "postgres://magpie:correct/horse@127.0.0.1/magpie"
	path := writeConfig(t, "data = \"/srv/magpie\"\n"+inPostgres+"[db]\nurl = \""+url+"\"\n")
	for want, environ := range map[string][]string{
		"line 8: [db] url: must be like":                     nil,
		"environment: MAGPIE_DB_URL: [db] url: must be like": {"MAGPIE_DB_URL=" + url + "2"},
	} {
		_, err := Load(path, environ)
		for _, l := range []i18n.Lang{i18n.English, i18n.Chinese} {
			text := i18n.ErrorText(l, err)
			if l == i18n.English && !strings.Contains(text, want) {
				t.Errorf("%q does not say %q", text, want)
			}
			if strings.Contains(text, "correct") || strings.Contains(text, "horse") {
				t.Errorf("the password is shown: %s", text)
			}
		}
	}
}

// A project of other machines is no mistake where there may be some, and need not be there.
func TestProjectsOfOtherMachines(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	const projects = "[projects]\nweb = { path = \"/nowhere/web\", nodes = [\"b\"] }\n"
	c, err := Load(writeConfig(t, "data = \"~/data\"\nnode = \"a\"\n"+inPostgres+"[db]\nurl = \"postgres://magpie@127.0.0.1/magpie\"\n"+projects), nil)
	if err != nil {
		t.Fatal(err)
	}
	p, ok := c.BridgeConfig().Projects.Find("web")
	if !ok || p.Away != "b" {
		t.Errorf("%+v", p)
	}
	_, err = Load(writeConfig(t, "node = \"a\"\n"+inPostgres+projects), nil)
	if err == nil || !strings.Contains(err.Error(), `[projects] web: nodes does not name this machine, "a"`) ||
		!strings.Contains(i18n.ErrorText(i18n.Chinese, err), "[projects] web：nodes 里没有这台机器") {
		t.Errorf("with SQLite: %v", err)
	}
}
