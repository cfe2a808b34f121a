package doctor

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"magpie/internal/claude/workspace"
	"magpie/internal/i18n"
	"magpie/internal/operator/config"
)

// The pages name the Node.js version that the package of the CLI requires.
func TestNodeForCLI(t *testing.T) {
	for page, want := range map[string]string{
		"scripts/cli/package-lock.json": `"node": ">=%d.0.0"`,
		"README.md":                     "Node.js %d or later",
		"README.zh.md":                  "Node.js %d 或更新",
		"docs/install.md":               "Node.js %d or later",
		"docs/install.zh.md":            "Node.js %d 或更新",
		"docs/troubleshooting.md":       "Node.js %d or later",
		"docs/troubleshooting.zh.md":    "Node.js %d 或更新",
		"docs/claude-cli.md":            "Node.js %d or later",
	} {
		data, err := os.ReadFile(filepath.Join("..", "..", "..", page))
		if want = fmt.Sprintf(want, workspace.NodeForCLI); err != nil || !strings.Contains(string(data), want) {
			t.Errorf("%s does not say %q: %v", page, want, err)
		}
	}
}

// The versions that the doctor considers tested are those that the tests run.
func TestTestedCLI(t *testing.T) {
	for folder, want := range map[string]string{".": TestedCLI, "oldest": OldestCLI} {
		data, err := os.ReadFile(filepath.Join("..", "..", "..", "scripts", "cli", folder, "package.json"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(data), `"@anthropic-ai/claude-code": "`+want+`"`) {
			t.Errorf("scripts/cli/%s does not pin version %s", folder, want)
		}
	}
	for page, want := range map[string]string{
		"README.md":    "with Claude Code " + OldestCLI + " or newer, tested to " + TestedCLI + ";",
		"README.zh.md": "Claude Code " + OldestCLI + " 或更新，测试到 " + TestedCLI + "；",
	} {
		if data, err := os.ReadFile(filepath.Join("..", "..", "..", page)); err != nil || !strings.Contains(string(data), want) {
			t.Errorf("%s does not say %q: %v", page, want, err)
		}
	}
	for _, tc := range []struct {
		a, b string
		want int
	}{{"2.1.9", "2.1.10", -1}, {"2.2.0", "2.1.197", 1}, {"2.1.197", "2.1.197", 0}, {"nightly", "2.1.197", -1}} {
		if got := compareVersions(tc.a, tc.b); got != tc.want {
			t.Errorf("%s against %s: %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}

// A folder that is relative to the working folder is shown with its full path.
func TestTheFolderOfARelativeDatabaseIsNamed(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	c := config.Defaults()
	c.DB.URL = "sqlite://data/magpie.db"
	r := &Report{Lang: i18n.English}
	CheckDisk(r, c)
	checkDatabase(t.Context(), r, c)
	for i, want := range map[int]string{0: " at " + dir, 2: "database: " + dir + "/data/magpie.db will be created"} {
		if len(r.Findings) != 3 || !strings.Contains(r.Findings[i].What, want) {
			t.Errorf("%v does not name %q", r.Findings, want)
		}
	}
}

// A file in which Magpie has stored nothing is not called intact: it may be all that is left of a database.
func TestADatabaseThatIsEmptyOrAnothersIsNotIntact(t *testing.T) {
	for _, tc := range []struct {
		name, sql string // of another program; empty = an empty file
		state     State
		en, zh    string
	}{
		{"empty", "", Warn, "database: %s is empty", "数据库：%s 是空的"},
		{"set up in part", "PRAGMA journal_mode = WAL", Warn, "database: %s is empty", "数据库：%s 是空的"},
		{
			"another program's", "CREATE TABLE t (a)", Fail,
			"database: this database belongs to another program, not to Magpie: %s", "数据库：这不是鹊桥的数据库，而是别的程序的：%s",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "magpie.db")
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			runSQL(t, path, tc.sql)
			c := config.Defaults()
			c.DB.URL = "sqlite://" + path
			for l, want := range map[i18n.Lang]string{i18n.English: tc.en, i18n.Chinese: tc.zh} {
				r := &Report{Lang: l}
				checkDatabase(t.Context(), r, c)
				if len(r.Findings) != 1 || r.Findings[0].State != tc.state || r.Findings[0].Do == "" ||
					r.Findings[0].What != fmt.Sprintf(want, path) {
					t.Errorf("%v is not %q", r.Findings, want)
				}
			}
		})
	}
}

// runSQL runs a statement on a file, as another program does.
func runSQL(t *testing.T, path, statement string) {
	t.Helper()
	raw, err := sql.Open("sqlite3", path)
	if err == nil {
		_, err = raw.ExecContext(t.Context(), statement)
		err = errors.Join(err, raw.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}
