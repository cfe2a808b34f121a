package dsn

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"magpie/internal/i18n"
)

// withoutPostgres removes PostgreSQL's variables and files from the environment of a test.
func withoutPostgres(t *testing.T) (home string) {
	t.Helper()
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "PG") {
			t.Setenv(name, "")
		}
	}
	home = t.TempDir()
	t.Setenv("HOME", home)
	return home
}

// Each URL says where its database is, and what of it is secret.
func TestURLsOfDatabases(t *testing.T) {
	withoutPostgres(t)
	for url, want := range map[string]struct {
		place, host, user, password string
		secret                      bool // the URL has a password
	}{
		"sqlite:///srv/magpie.db": {place: "/srv/magpie.db"},
		"sqlite://magpie.db":      {place: "magpie.db"},
		"postgres://magpie@db.example.com/magpie": {
			place: "postgres://magpie@db.example.com/magpie", host: "db.example.com", user: "magpie",
		},
		"postgresql://magpie:correct-horse@db.example.com:5433/m?sslmode=require": {
			place: "postgres://magpie@db.example.com:5433/m", host: "db.example.com", user: "magpie",
			password: "correct-horse", secret: true,
		},
		"postgres://magpie:p%40ss%2Fword%3F@127.0.0.1/m": {
			place: "postgres://magpie@127.0.0.1/m", host: "127.0.0.1", user: "magpie", password: "p@ss/word?", secret: true,
		},
		"postgres://magpie:a:b?c#d@127.0.0.1/m": {
			place: "postgres://magpie@127.0.0.1/m", host: "127.0.0.1", user: "magpie", password: "a:b?c#d", secret: true,
		},
		"postgres:///m?host=/run/postgresql&user=magpie&password=s3cret%20word": {
			place: "postgres:///m", host: "/run/postgresql", user: "magpie", password: "s3cret word", secret: true,
		},
		"postgres://magpie@a:5432,b:5433/m?target_session_attrs=read-write": {
			place: "postgres://magpie@a:5432,b:5433/m", host: "a", user: "magpie",
		},
	} {
		c := DSN{URL: url}
		if err := c.Check(); err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		if got := c.String(); got != want.place {
			t.Errorf("%s is at %s, want %s", url, got, want.place)
		}
		if c.IsFile() != strings.HasPrefix(url, "sqlite") {
			t.Errorf("%s is a file: %t", url, c.IsFile())
		}
		secrets := c.Secrets()
		if slices.Contains(secrets, url) != want.secret || want.secret && !slices.Contains(secrets, want.password) {
			t.Errorf("%s: secrets %q", url, secrets)
		}
		if c.IsFile() {
			continue
		}
		to, err := c.Postgres()
		if err != nil || to.Host != want.host || to.User != want.user || to.Password != want.password {
			t.Errorf("%s: host %q, user %q, password %q, %v", url, to.Host, to.User, to.Password, err)
		}
		if folder, _, err := c.Paths(); err != nil || folder != "" {
			t.Errorf("%s: folder %q, %v", url, folder, err)
		}
		if copies, err := c.RescuedCopies(); err != nil || len(copies) > 0 {
			t.Errorf("%s: rescued copies %v, %v", url, copies, err)
		}
	}
}

// A URL that is wrong is reported in both languages, without any part of its password, however it is malformed.
func TestWrongURLsShowNoPassword(t *testing.T) {
	withoutPostgres(t)
	// What follows a character with a meaning in URLs is taken for another part of it, up to the next such character.
	passwords := []string{"hunter22", "hunter22/hunter23", "12/hunter22", "hunter22@hunter23", "hunter22?hunter23", "12?hunter22",
		"hunter22#hunter23", "hunter22&hunter23", "hunter22=hunter23", "%zzhunter22", "hunter22 hunter23", "hunter22:hunter23",
		"12/x?a=1&hunter22"}
	var urls []string
	for _, p := range passwords {
		for _, form := range []string{
			"mysql://u:%s@h/d", "postgres:u:%s@h/d", "Postgres://u:%s@h/d", "host=h user=u password=%s", "u:%s@h/d",
			"postgres://u:%s@h:5432x/d", "postgres://u:%s@h/d?sslmode=never", "postgres://u:%s@h/d?nothing=1", "postgres://u:%s@h/",
			"postgres://u@h/d?sslmode=require&password=%s&port=x", "postgres://u@h/d?connect_timeout=x&password=%s",
			"postgres://u:%s@h@h/d", "postgres://u@h/d?%s", "postgres://u@h/d?password=%s&sslrootcert=/none",
		} {
			urls = append(urls, strings.ReplaceAll(form, "%s", p))
		}
	}
	for _, url := range append(urls, "", "sqlite://", "postgres://", "postgresql://h") {
		c := DSN{URL: url}
		err := c.Check()
		if err == nil {
			t.Errorf("%s is taken", url)
			continue
		}
		zh, en := i18n.ErrorText(i18n.Chinese, err), i18n.ErrorText(i18n.English, err)
		if !strings.HasPrefix(zh, "[db] url：") || !strings.HasPrefix(en, "[db] url: ") {
			t.Errorf("%s: %q, %q", url, zh, en)
		}
		for _, text := range []string{zh, en, err.Error()} {
			if strings.Contains(text, "hunter2") {
				t.Errorf("%s shows its password: %s", url, text)
			}
		}
	}
}

// The variables and files of PostgreSQL's own programs are used; those with passwords are private.
func TestPasswordsOutsideOfTheURL(t *testing.T) {
	home := withoutPostgres(t)
	passfile := filepath.Join(home, "passwords")
	if err := os.WriteFile(passfile, []byte("*:*:*:*:from the file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ query, variable, password, want string }{
		"none":                {},
		"parameter":           {query: "?passfile=" + passfile, want: "from the file"},
		"variable of a file":  {variable: passfile, want: "from the file"},
		"variable":            {password: "from the variable", want: "from the variable"},
		"a variable is first": {query: "?passfile=" + passfile, password: "from the variable", want: "from the variable"},
		"the URL is first":    {query: "?password=from%20the%20URL", password: "from the variable", want: "from the URL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PGPASSFILE", tc.variable)
			c := DSN{URL: "postgres://magpie@127.0.0.1/magpie" + tc.query, Password: tc.password}
			to, err := c.Postgres()
			if err != nil || to.Password != tc.want {
				t.Errorf("the password is %q, %v", to.Password, err)
			}
			_, files, err := c.Paths()
			if err != nil || !slices.Contains(files, filepath.Join(home, ".pgpass")) {
				t.Errorf("private files: %v, %v", files, err)
			}
			if c.IsOpen() != (tc.want == "") {
				t.Errorf("anybody is let in: %t", c.IsOpen())
			}
			if used := tc.want == "from the file"; used && !slices.Contains(files, passfile) {
				t.Errorf("the password file is not private: %v", files)
			}
			if tc.password != "" && !slices.Contains(c.Secrets(), tc.password) {
				t.Errorf("secrets: %q", c.Secrets())
			}
		})
	}
}

// A key counts as a password does, but only where it is used.
func TestAKeyInPlaceOfAPassword(t *testing.T) {
	withoutPostgres(t)
	t.Setenv("PGSSLKEY", "/etc/magpie/client.key")
	for mode, want := range map[string]bool{"disable": true, "require": false} {
		if got := (DSN{URL: "postgres://magpie@127.0.0.1/magpie?sslmode=" + mode}).IsOpen(); got != want {
			t.Errorf("sslmode=%s: anybody is let in: %t", mode, got)
		}
	}
	if (DSN{URL: "sqlite://magpie.db"}).IsOpen() {
		t.Error("a file lets anybody in")
	}
}

// With PostgreSQL one process uses a data folder at a time, and two of them are two bridges.
func TestOneProcessUsesTheDataFolder(t *testing.T) {
	c := DSN{URL: "postgres://magpie@127.0.0.1/magpie", Node: "a"}
	if l, err := c.Lock(); l != nil || err != nil || l.Release() != nil {
		t.Errorf("without a data folder: %v, %v", l, err)
	}
	c.Data = filepath.Join(t.TempDir(), "data")
	l, err := c.Lock()
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Lock()
	var locked *FolderLockedError
	if !errors.As(err, &locked) || locked.PID != os.Getpid() || locked.Folder != c.Data {
		t.Errorf("a second one uses the folder: %v", err)
	}
	for _, text := range []string{i18n.ErrorText(i18n.Chinese, err), i18n.ErrorText(i18n.English, err)} {
		if !strings.Contains(text, c.Data) {
			t.Errorf("the folder is not named: %s", text)
		}
	}
	other := c
	other.Data = filepath.Join(t.TempDir(), "data")
	lo, err := other.Lock()
	if err != nil {
		t.Fatalf("another folder: %v", err)
	}
	second := c
	second.Node = "b"
	ids := []string{c.Instance(), other.Instance(), second.Instance()}
	slices.Sort(ids)
	if len(slices.Compact(ids)) != 3 {
		t.Errorf("bridges of one machine share their mark: %v", ids)
	}
	if err := errors.Join(l.Release(), lo.Release()); err != nil {
		t.Error(err)
	}
	if l, err = c.Lock(); err != nil {
		t.Fatalf("a folder that was left: %v", err)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}
