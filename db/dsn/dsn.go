// Package dsn is where a database is, as [db] url says: in SQLite's file on this machine, or in PostgreSQL. It knows what
// of that is secret, what lies on this machine, and who uses it.
//
// It opens no database.
package dsn

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"magpie/db/sqlite"
	"magpie/internal/i18n"
)

// DSN is the data source name, and what belongs to the database on this machine.
type DSN struct {
	URL      string
	Password string // of PostgreSQL's user, if the URL has none; empty = it is in a password file

	Data string // with PostgreSQL: the folder of what belongs to this machine
	Node string // name of this machine
}

// sqliteScheme begins the URL of a file.
const sqliteScheme = "sqlite://"

// postgresURL matches a URL of PostgreSQL in which it is certain what is the password. Where it holds a character that
// has a meaning in URLs, the rest of it would be taken for the host or the database, and be shown.
var postgresURL = regexp.MustCompile(
	`^postgres(?:ql)?://(?:([^:@/\s]*)(?::([^@/\s]*))?@)?([^@/?\s]*)(?:/([^@/?\s]*))?(?:\?([^@\s]*))?$`)

// parameters are those that a URL of PostgreSQL may have, in the words of PostgreSQL's documentation (libpq, "Parameter Key
// Words").
var parameters = []string{
	"channel_binding", "connect_timeout", "dbname", "host", "krbspn", "krbsrvname", "options", "passfile", "password", "port",
	"require_auth", "service", "servicefile", "sslcert", "sslcertmode", "sslkey", "sslmode", "sslnegotiation",
	"sslpassword", "sslrootcert", "sslsni", "target_session_attrs", "user",
}

// IsFile reports whether the database is a file of this machine, SQLite's; otherwise it is PostgreSQL's.
func (d DSN) IsFile() bool {
	return !strings.HasPrefix(d.URL, "postgres://") && !strings.HasPrefix(d.URL, "postgresql://")
}

// File is the path of SQLite's file as configured, which may be relative; empty = there is none.
func (d DSN) File() string {
	path, ok := strings.CutPrefix(d.URL, sqliteScheme)
	if !ok {
		return ""
	}
	return path
}

// String says where the database is, without its password: the path of its file, or a URL of PostgreSQL with user, host
// and name.
func (d DSN) String() string {
	m := postgresURL.FindStringSubmatch(d.URL)
	if m == nil {
		return d.File()
	}
	place := "postgres://"
	if m[1] != "" {
		place += m[1] + "@"
	}
	return place + m[3] + "/" + m[4]
}

// Check reports what is wrong with the URL, and shows nothing of it that may be a password.
func (d DSN) Check() error {
	switch {
	case d.File() != "":
		return nil
	case d.IsFile():
		return i18n.Mistakef("[db] url：应写成 sqlite:///path/to/magpie.db 或 postgres://user:password@host:5432/database 的形式",
			"[db] url: must be like sqlite:///path/to/magpie.db or postgres://user:password@host:5432/database")
	}
	_, err := d.Postgres()
	return err
}

// Postgres is how to connect to PostgreSQL. As in PostgreSQL's own programs, what the URL leaves out is taken from the
// variables of the environment (PGHOST and so on), and the password from the password file.
func (d DSN) Postgres() (*pgx.ConnConfig, error) {
	m := postgresURL.FindStringSubmatch(d.URL)
	if _, err := url.PathUnescape(d.URL); m == nil || err != nil {
		return nil, i18n.Mistakef("[db] url：应写成 postgres://user:password@host:5432/database 的形式；"+
			"用户名和密码里的特殊字符要写成百分号编码，例如 @ 写成 %%40，/ 写成 %%2F",
			"[db] url: must be like postgres://user:password@host:5432/database; "+
				"special characters in the user and the password are percent-encoded: @ as %%40, / as %%2F")
	}
	for pair := range strings.SplitSeq(m[5], "&") {
		if name, _, _ := strings.Cut(pair, "="); pair != "" && !slices.Contains(parameters, name) {
			// Its name is not shown: it may be the end of a password with a & in it.
			return nil, i18n.Mistakef("[db] url：? 后面有一个不认识的参数，可以用的有 %s",
				"[db] url: one of the parameters behind the ? is unknown; there are %s", i18n.Listing(parameters))
		}
	}
	to, err := pgx.ParseConfig(d.URL)
	if err != nil {
		return nil, i18n.Mistakef("[db] url：%s", "[db] url: %s", d.reason(err))
	}
	if to.Database == "" {
		return nil, i18n.Mistakef("[db] url：没有写数据库的名字，应写成 postgres://user@host/database 的形式",
			"[db] url: names no database: must be like postgres://user@host/database")
	}
	if m[2] == "" && !strings.Contains(m[5], "password=") && d.Password != "" {
		to.Password = d.Password
	}
	return to, nil
}

// IsOpen reports whether this machine is let into PostgreSQL with nothing that only Magpie has: no password, key or ticket.
func (d DSN) IsOpen() bool {
	if d.IsFile() {
		return false
	}
	to, err := d.Postgres()
	if err != nil || to.Password != "" || to.KerberosSrvName != "" || to.KerberosSpn != "" {
		return false
	}
	return to.TLSConfig == nil || !d.hasKey()
}

// usualKey is where PostgreSQL's own programs look for a key, in the home folder.
const usualKey = ".postgresql/postgresql.key"

// hasKey reports whether there is a key that a server may ask for.
func (d DSN) hasKey() bool {
	if strings.Contains(d.URL, "sslkey=") || os.Getenv("PGSSLKEY") != "" {
		return true
	}
	home, err := os.UserHomeDir()
	if err == nil {
		_, err = os.Stat(filepath.Join(home, filepath.FromSlash(usualKey)))
	}
	return err == nil
}

// reason is what a URL's error says behind the URL, which it repeats.
func (d DSN) reason(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, "`: "); i >= 0 {
		text = text[i+len("`: "):]
	}
	for _, secret := range d.Secrets() {
		if strings.Contains(text, secret) {
			return "?"
		}
	}
	return text
}

// Secrets are the values of the URL that nobody may see: PostgreSQL's passwords, as they are and as they are written, and
// the URL with them.
func (d DSN) Secrets() (list []string) {
	if d.IsFile() {
		return nil
	}
	add := func(written string) {
		if written == "" {
			return
		}
		list = append(list, written)
		if plain, err := url.PathUnescape(written); err == nil && plain != written {
			list = append(list, plain, url.QueryEscape(plain))
		}
	}
	// As far as possible also of a URL that is malformed.
	rest, _ := strings.CutPrefix(d.URL[strings.Index(d.URL, "://"):], "://")
	if i := strings.LastIndex(rest, "@"); i >= 0 {
		_, password, _ := strings.Cut(rest[:i], ":")
		add(password)
	}
	_, query, _ := strings.Cut(rest, "?")
	for pair := range strings.SplitSeq(query, "&") {
		if name, value, _ := strings.Cut(pair, "="); strings.Contains(name, "password") {
			add(value)
		}
	}
	if d.Password != "" {
		list = append(list, d.Password)
	}
	if len(list) > 0 {
		list = append(list, d.URL)
	}
	return list
}

// Paths returns the real folder of SQLite's database, empty if there is none, and the files that are private: those of the
// database, or PostgreSQL's password file and key on this machine.
func (d DSN) Paths() (folder string, files []string, err error) {
	if err := d.Check(); err != nil {
		return "", nil, err
	}
	if !d.IsFile() {
		files, err = d.credentials()
		return "", files, err
	}
	path, err := filepath.Abs(sqlite.RealPath(d.File()))
	if err != nil {
		return "", nil, fmt.Errorf("place of the database: %w", err)
	}
	return filepath.Dir(path), sqlite.Files(path), nil
}

// credentials lists the files with which PostgreSQL lets this machine in, where they are configured or usual.
func (d DSN) credentials() (files []string, err error) {
	add := func(path string) {
		if path, absErr := filepath.Abs(path); absErr == nil {
			files = append(files, path)
		} else {
			err = fmt.Errorf("place of the password file: %w", absErr)
		}
	}
	m := postgresURL.FindStringSubmatch(d.URL)
	query, _ := url.ParseQuery(m[5]) // it was checked
	for parameter, variable := range map[string]string{
		"passfile": "PGPASSFILE", "sslkey": "PGSSLKEY", "servicefile": "PGSERVICEFILE",
	} {
		for _, path := range []string{query.Get(parameter), os.Getenv(variable)} {
			if path != "" {
				add(path)
			}
		}
	}
	if home, err := os.UserHomeDir(); err == nil {
		for _, name := range []string{".pgpass", ".pg_service.conf", usualKey} {
			add(filepath.Join(home, filepath.FromSlash(name)))
		}
	}
	slices.Sort(files)
	return slices.Compact(files), err
}

// RescuedCopies lists the copies of databases that were lost at this database's path, see [sqlite.LostError]. PostgreSQL
// makes none.
func (d DSN) RescuedCopies() ([]string, error) {
	if err := d.Check(); err != nil || !d.IsFile() {
		return nil, err
	}
	return sqlite.RescuedCopies(sqlite.RealPath(d.File()))
}
