package db_test

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/db/engine"
)

// version31 is a database that went through all migrations of which one schema was made, with what a statement adds.
func version31(t *testing.T, statement string) (path string) {
	t.Helper()
	script, err := os.ReadFile("testdata/version-31.sql")
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "magpie.db")
	raw, err := sql.Open("sqlite3", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = raw.ExecContext(t.Context(), string(script)+statement)
	if err := errors.Join(err, raw.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

var checked = regexp.MustCompile(`CHECK \([^)]*\)\)`)

// described are the tables of a database as SQLite understands them, and its indexes.
func described(t *testing.T, path string) map[string][]string {
	t.Helper()
	raw, err := sql.Open("sqlite3", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close() //nolint:errcheck // only read
	all := map[string][]string{}
	for _, query := range []string{
		`SELECT m.name, 'column ' || c.cid || ' ' || c.name || ' ' || c.type || ' ' || c."notnull" || ' ' ||
			COALESCE(c.dflt_value, '-') || ' ' || c.pk FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'`,
		`SELECT m.name, 'to ' || f."table" || ' ' || f."from" || ' ' || COALESCE(f."to", '-')
			FROM sqlite_master m, pragma_foreign_key_list(m.name) f WHERE m.type = 'table'`,
		`SELECT m.name, 'unique ' || i.name || ' ' || x.seqno || ' ' || x.name FROM sqlite_master m,
			pragma_index_list(m.name) i, pragma_index_info(i.name) x WHERE m.type = 'table' AND i.origin <> 'c'`,
		`SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL`,
		`SELECT name, sql FROM sqlite_master WHERE type = 'table'`,
	} {
		for name, says := range pairs(t.Context(), t, raw, query) {
			if strings.HasPrefix(says[0], "CREATE TABLE") {
				without := ""
				if strings.HasSuffix(says[0], "WITHOUT ROWID") {
					without = "WITHOUT ROWID"
				}
				says = append(checked.FindAllString(says[0], -1), without)
				slices.Sort(says)
			} else if strings.HasPrefix(says[0], "CREATE") {
				says = strings.Fields(says[0])
			}
			all[name] = append(all[name], says...)
		}
	}
	return all
}

func pairs(ctx context.Context, t *testing.T, raw *sql.DB, query string) map[string][]string {
	t.Helper()
	rows, err := raw.QueryContext(ctx, query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close() //nolint:errcheck // see Err
	found := map[string][]string{}
	for rows.Next() {
		var name, says string
		if err := rows.Scan(&name, &says); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(name, "sqlite_stat") {
			found[name] = append(found[name], says)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}

// A database from before there was one schema is like a new one, and keeps what it holds.
func TestTheOneSchemaIsThatOfItsMigrations(t *testing.T) {
	dbtest.OfSQLite(t)
	old := version31(t, `INSERT INTO chats (no, key, kind, settings) VALUES (1, '`+oc.String()+`', 'p2p', '{"mode":"plan"}');
		INSERT INTO messages (chat_key, seq, epoch, message_id, role, class, content, sent_at)
			VALUES ('`+oc.String()+`', 1, 0, 'om_1', 'user', 'talk', 'from before', 1);
		INSERT INTO agent_folders VALUES ('`+oc.String()+`', 'f', 0);`)
	d := open(t, old)
	if c, err := d.Chats().Get(t.Context(), oc); err != nil || c.Settings.Mode != "plan" {
		t.Errorf("its chat: %+v, %v", c, err)
	}
	if got := history(t, d, 0, 99); got != "u:from before" {
		t.Errorf("its History: %q", got)
	}
	if id, err := d.Chats().Folder(t.Context(), oc); id != "f" || err != nil {
		t.Errorf("its folder: %q, %v", id, err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "new.db")
	d, err := db.Open(t.Context(), db.Config{URL: dbtest.URL(path)})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	was, is := described(t, old), described(t, path)
	if len(is) < 30 || len(is["turns"]) < 20 {
		t.Fatalf("found %v", is)
	}
	for name := range maps.Keys(is) {
		if !slices.Equal(was[name], is[name]) {
			t.Errorf("%s: it was\n%s\nand is\n%s", name, strings.Join(was[name], "\n"), strings.Join(is[name], "\n"))
		}
		delete(was, name)
	}
	if len(was) > 0 {
		t.Errorf("only in the older one: %v", was)
	}
}

func TestADatabaseFromBeforeTheOneSchemaIsRefused(t *testing.T) {
	dbtest.OfSQLite(t)
	path := version31(t, `DELETE FROM goose_db_version WHERE version_id > 20;`)
	for range 2 {
		d, err := db.Open(t.Context(), db.Config{URL: dbtest.URL(path)})
		if !errors.Is(err, engine.ErrOldestSchema) || !strings.Contains(err.Error(), path) {
			t.Fatalf("opened: %v, %v", d, err)
		}
	}
	if list, err := filepath.Glob(path + ".*"); err != nil || slices.ContainsFunc(list, func(name string) bool {
		return strings.Contains(name, ".before-")
	}) {
		t.Errorf("beside it: %v, %v", list, err)
	}
}
