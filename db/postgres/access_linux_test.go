package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver

	"magpie/db"
	"magpie/db/engine"
	"magpie/internal/chat"
	"magpie/internal/i18n"
	"magpie/internal/pgtest"
)

const password = "correct-horse-battery"

// house is a server with roles that may do different things.
type house struct {
	*pgtest.Server
	t *testing.T
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{pgtest.Start(t, pgtest.Config{TLS: true, Access: []string{
		"host all magpie 127.0.0.1/32 trust",
		"hostssl all encrypted 127.0.0.1/32 scram-sha-256",
		"host all owner,reader,nobody 127.0.0.1/32 scram-sha-256",
	}}), t}
	for _, role := range []string{"owner", "reader", "nobody", "encrypted", "unlisted"} {
		h.do("postgres", "CREATE ROLE "+role+" LOGIN PASSWORD '"+password+"'")
	}
	return h
}

// do runs statements in a database as the superuser.
func (h *house) do(database string, statements ...string) {
	h.t.Helper()
	pool, err := sql.Open("pgx", h.URL(database))
	if err != nil {
		h.t.Fatal(err)
	}
	defer pool.Close() //nolint:errcheck // nothing is left to do
	for _, s := range statements {
		if _, err := pool.Exec(s); err != nil {
			h.t.Fatalf("%s: %v", s, err)
		}
	}
}

// as is the URL of a database for a role, with its password and without TLS unless the parameters say otherwise.
func (h *house) as(role, database, parameters string) string {
	h.t.Helper()
	u, err := url.Parse(h.URL(database))
	if err != nil {
		h.t.Fatal(err)
	}
	u.User, u.RawQuery = url.UserPassword(role, password), parameters
	if !strings.Contains(parameters, "sslmode=") {
		u.RawQuery = strings.TrimPrefix(parameters+"&sslmode=disable", "&")
	}
	return u.String()
}

// create creates a database of a role, with the tables of this version.
func (h *house) create(database, owner string) {
	h.t.Helper()
	h.do("postgres", "CREATE DATABASE "+database+" OWNER "+owner)
	h.opens(db.Open, db.Config{URL: h.as(owner, database, "")})
}

type opener = func(context.Context, db.Config) (*db.DB, error)

func (h *house) opens(open opener, c db.Config) {
	h.t.Helper()
	d, err := open(h.t.Context(), c)
	if err == nil {
		err = d.Close()
	}
	if err != nil {
		h.t.Errorf("%s does not open: %v", c.DSN(), err)
	}
}

// refuses expects an error that says what to do, in both languages and without the password.
func (h *house) refuses(open opener, c db.Config, want ...string) error {
	h.t.Helper()
	d, err := open(h.t.Context(), c)
	if err == nil {
		h.t.Errorf("%s opens", c.DSN())
		_ = d.Close()
		return nil
	}
	en, zh := i18n.ErrorText(i18n.English, err), i18n.ErrorText(i18n.Chinese, err)
	for _, w := range want {
		if !strings.Contains(en, w) {
			h.t.Errorf("%q does not say %q", en, w)
		}
	}
	if !strings.ContainsFunc(zh, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
		h.t.Errorf("not in Chinese: %q", zh)
	}
	for _, text := range []string{en, zh, fmt.Sprintf("%v %+v %q", err, err, err)} {
		if strings.Contains(text, "-battery") {
			h.t.Errorf("the password is shown: %s", text)
		}
	}
	if strings.Contains(en, "\n") || strings.Contains(en, "SQLSTATE") || strings.Contains(en, "failed to connect") {
		h.t.Errorf("the driver's own words: %q", en)
	}
	return err
}

// Whatever keeps the database from being used is said in words that help.
func TestWhyADatabaseCannotBeUsed(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	h := newHouse(t)
	h.create("ours", "owner")
	h.do("postgres", "CREATE DATABASE newer OWNER owner TEMPLATE ours", "CREATE DATABASE readable OWNER owner TEMPLATE ours",
		"CREATE DATABASE hasty OWNER owner TEMPLATE ours", "ALTER DATABASE hasty SET synchronous_commit = off")
	h.do("newer", "INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, true)")
	h.do("readable", "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
	h.do("postgres",
		"CREATE DATABASE strange OWNER owner", "CREATE DATABASE upgraded OWNER owner", "CREATE DATABASE empty OWNER owner",
		"CREATE DATABASE closed OWNER owner", "REVOKE CONNECT ON DATABASE closed FROM PUBLIC",
		"CREATE DATABASE standby OWNER owner", "ALTER DATABASE standby SET default_transaction_read_only = on",
		"CREATE DATABASE bytes OWNER owner ENCODING 'SQL_ASCII' LOCALE_PROVIDER libc LOCALE 'C' TEMPLATE template0")
	h.do("strange", "CREATE TABLE chats (a INT)")
	h.do("upgraded", "CREATE TABLE goose_db_version (version_id BIGINT)", "INSERT INTO goose_db_version VALUES (0), (40)",
		"CREATE TABLE orders (a INT)", "GRANT SELECT ON goose_db_version TO owner")
	h.do("empty", "CREATE SCHEMA old",
		"CREATE FUNCTION old.current_setting(text) RETURNS text LANGUAGE sql AS $$ SELECT '140012' $$", "GRANT USAGE ON SCHEMA old TO owner")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	plain := pgtest.Start(t, pgtest.Config{})

	for name, tc := range map[string]struct {
		url  string
		is   error
		want []string
	}{
		"wrong password":          {strings.Replace(h.as("owner", "ours", ""), "correct-", "wrong-", 1), nil, []string{"the password of the user owner", "[db] url"}},
		"no password":             {strings.Replace(h.as("owner", "ours", ""), ":"+password, "", 1), nil, []string{"the password of the user owner"}},
		"unlisted role":           {h.as("unlisted", "ours", ""), nil, []string{"the user unlisted", "pg_hba.conf"}},
		"TLS is required":         {h.as("encrypted", "ours", ""), nil, []string{"sslmode=require"}},
		"no TLS":                  {plain.URL("postgres") + "&sslmode=require", nil, []string{"has no TLS", "sslmode"}},
		"a certificate of nobody": {h.as("encrypted", "ours", "sslmode=verify-full"), nil, []string{"certificate", "sslrootcert"}},
		"unknown database":        {h.as("owner", "nowhere", ""), nil, []string{"no database nowhere", "CREATE DATABASE nowhere OWNER owner"}},
		"no connection allowed":   {h.as("reader", "closed", ""), nil, []string{"the user reader has too few rights", "OWNER TO reader"}},
		"no tables allowed":       {h.as("reader", "empty", ""), nil, []string{"the user reader has too few rights", "OWNER TO reader"}},
		"not its tables":          {h.as("nobody", "ours", ""), nil, []string{"the user nobody has too few rights"}},
		"only reads":              {h.as("reader", "readable", ""), nil, []string{"the user reader has too few rights"}},
		"unknown schema":          {h.as("owner", "ours", "options=-csearch_path%3Dnowhere"), nil, []string{"search_path"}},
		"of another program":      {h.as("owner", "strange", ""), engine.ErrForeign, []string{"another program", "[db] url"}},
		"upgraded by another":     {h.as("owner", "upgraded", ""), engine.ErrForeign, []string{"another program"}},
		"newer":                   {h.as("owner", "newer", ""), engine.ErrNewerSchema, []string{"999"}},
		"not UTF-8":               {h.as("owner", "bytes", ""), nil, []string{"SQL_ASCII", "ENCODING 'UTF8'"}},
		"an old server":           {h.as("owner", "empty", "options=-csearch_path%3Dold,pg_catalog,public"), nil, []string{"version 14", "15"}},
		"a standby":               {h.as("owner", "standby", ""), nil, []string{"can only be read", "target_session_attrs"}},
		"commits in memory":       {h.as("owner", "hasty", ""), nil, []string{"ALTER DATABASE hasty SET synchronous_commit = on"}},
		"nobody there":            {"postgres://owner:" + password + "@" + free.Addr().String() + "/ours", nil, []string{free.Addr().String(), "refused"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := &house{h.Server, t}
			err := h.refuses(db.Open, db.Config{URL: tc.url}, tc.want...)
			if tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("%v is not %v", err, tc.is)
			}
		})
	}

	// What is only read needs fewer rights, and must be there.
	h.opens(db.OpenReadOnly, db.Config{URL: h.as("reader", "readable", "")})
	d, err := db.OpenReadOnly(t.Context(), db.Config{URL: h.as("reader", "readable", "")})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.Check(t.Context()), d.Close()); err == nil || !strings.Contains(err.Error(), "too few rights") {
		t.Errorf("the check of a database that is only read: %v", err)
	}
	if err := h.refuses(db.OpenReadOnly, db.Config{URL: h.as("owner", "empty", "")}, "empty"); !errors.Is(err, engine.ErrEmpty) {
		t.Errorf("an empty database: %v", err)
	}
	h.refuses(db.OpenReadOnly, db.Config{URL: h.as("nobody", "ours", "")}, "the user nobody has too few rights")
}

// A database opens with TLS, with the password wherever PostgreSQL's own programs look for it, in a schema of its own,
// and whatever its collation is.
func TestWaysIntoADatabase(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	h := newHouse(t)
	h.create("ours", "owner")
	h.do("ours", "GRANT ALL ON ALL TABLES IN SCHEMA public TO encrypted", "GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO encrypted",
		"CREATE SCHEMA apart AUTHORIZATION owner")
	for _, parameters := range []string{"sslmode=require", "sslmode=prefer", "sslmode=verify-full&sslrootcert=" + h.Certificate()} {
		h.opens(db.Open, db.Config{URL: h.as("encrypted", "ours", parameters)})
	}
	file := filepath.Join(t.TempDir(), "passwords")
	if err := os.WriteFile(file, []byte("127.0.0.1:*:ours:owner:"+password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	without := strings.Replace(h.as("owner", "ours", ""), ":"+password, "", 1)
	h.opens(db.Open, db.Config{URL: without + "&passfile=" + file})
	h.opens(db.Open, db.Config{URL: without + "&password=" + password})
	h.opens(db.Open, db.Config{URL: without, Password: password})
	h.opens(db.Open, db.Config{URL: h.as("owner", "ours", "options=-csearch_path%3Dapart")})
	t.Setenv("PGPASSFILE", file)
	h.opens(db.Open, db.Config{URL: without})

	h.do("postgres",
		"CREATE DATABASE plain OWNER owner LOCALE_PROVIDER libc LOCALE 'C' TEMPLATE template0",
		"CREATE DATABASE swedish OWNER owner LOCALE_PROVIDER icu ICU_LOCALE 'sv' LOCALE 'C.UTF-8' TEMPLATE template0")
	for _, database := range []string{"plain", "swedish"} {
		h.opens(db.Open, db.Config{URL: h.as("owner", database, "")})
	}
}

// What is only read says as well that the server has gone.
func TestReadingWithoutAServer(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	server := pgtest.Start(t, pgtest.Config{})
	d, err := db.Open(t.Context(), db.Config{URL: server.URL("postgres")})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close() //nolint:errcheck // only read
	key := chat.FeishuChat("oc_1")
	get := func() error { _, err := d.Chats().Get(t.Context(), key); return err }
	if err := get(); !errors.Is(err, db.ErrNotFound) {
		t.Fatal(err)
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	// Each of the open connections fails once in its own way.
	for range 20 {
		err = get()
	}
	for l, want := range map[i18n.Lang]string{i18n.English: "cannot be reached", i18n.Chinese: "连不上"} {
		if text := i18n.ErrorText(l, err); !strings.Contains(text, want) || strings.Contains(text, "failed to connect") {
			t.Errorf("without a server: %q", text)
		}
	}
}
