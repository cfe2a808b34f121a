package db

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"magpie/db/engine"
	"magpie/internal/chat"
)

// CheckLocks has every write fail that its transaction has no lock for, and every transaction run twice. SQLite needs
// neither, but has triggers.
func (d *DB) CheckLocks(t testing.TB) {
	t.Helper()
	if err := d.engine.Tx(t.Context(), createLocked); err != nil {
		t.Fatal(err)
	}
	d.indexing.close() // it writes, too
	d.engine, d.locking = lockChecker{d.engine, d}, lockWords{
		name: `INSERT INTO temp.locked VALUES (?1)`,
		chat: `INSERT INTO temp.locked SELECT key FROM chats WHERE key = ?1 RETURNING name`,
		room: `INSERT INTO temp.locked SELECT key FROM chats
			WHERE key = ?1 OR key > ?1 || ':thread:' AND key < ?1 || ':thread;' ORDER BY key RETURNING name`,
	}
	d.indexing.start()
}

// everything is the lock of statements that need none, and of tests.
const everything = `DELETE FROM temp.locked; INSERT INTO temp.locked VALUES ('everything')`

// lockChecker begins each transaction without locks, and runs it twice, as an engine does when the first time was undone.
type lockChecker struct {
	engine.Engine

	db *DB
}

func (c lockChecker) Tx(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	return c.Engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM temp.locked; SAVEPOINT again`); err != nil {
			return err
		}
		_ = f(ctx, tx)
		c.db.hotTurns.forgetAll() // as SQLite says when something is undone
		if _, err := tx.ExecContext(ctx, `ROLLBACK TO again; RELEASE again; DELETE FROM temp.locked`); err != nil {
			return err
		}
		return f(ctx, tx)
	})
}

func (c lockChecker) Exec(ctx context.Context, query string, args ...any) (res sql.Result, err error) {
	err = c.Engine.Tx(ctx, unchecked(func(ctx context.Context, tx *sql.Tx) (err error) {
		res, err = tx.ExecContext(ctx, query, args...)
		return err
	}))
	return res, err
}

func unchecked(f txFunc) txFunc {
	return func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, everything); err != nil {
			return err
		}
		return f(ctx, tx)
	}
}

// createLocked creates a table of locks, and the triggers that look for them, in the writer's connection.
func createLocked(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, `CREATE TEMP TABLE locked (name TEXT)`); err != nil {
		return err
	}
	for table, key := range lockOf {
		for _, change := range []struct{ event, row string }{{"INSERT", "NEW"}, {"UPDATE", "OLD"}, {"DELETE", "OLD"}} {
			name := strings.ReplaceAll(key, "ROW", change.row)
			_, err := tx.ExecContext(ctx, fmt.Sprintf(`CREATE TEMP TRIGGER locked_%[1]s_%[2]s BEFORE %[2]s ON main.%[1]s
				WHEN NOT EXISTS (SELECT 1 FROM temp.locked WHERE name IN ('everything', %[3]s, 'room ' ||
					CASE WHEN instr(%[3]s, ':thread:') > 0 THEN substr(%[3]s, 1, instr(%[3]s, ':thread:') - 1) ELSE %[3]s END)
					OR name = 'sweep' AND '%[2]s' = 'DELETE' AND '%[1]s' IN ('events', 'file_deliveries'))
				BEGIN SELECT RAISE(ABORT, 'written without a lock: %[2]s %[1]s'); END`, table, change.event, name))
			if err != nil {
				return fmt.Errorf("%s: %w", table, err)
			}
		}
	}
	return nil
}

const byChat = `ROW.chat_key`

// lockOf says for each table which lock a row needs.
var lockOf = map[string]string{
	"chats": `ROW.key`, "messages": byChat, "turns": byChat, "sessions": byChat, "memories": byChat,
	"memory_versions": byChat, "embeddings": byChat, "approvals": byChat, "rules": byChat, "files": byChat,
	"ledger": byChat, "file_deliveries": byChat, "outbox": byChat, "agent_folders": byChat, "titles": byChat,
	"steers": byChat, "silenced": byChat, "digests": byChat, "schedules": byChat, "calls": byChat,
	"answer_pages": `COALESCE((SELECT chat_key FROM messages WHERE id = ROW.answer), name)`,
	"grants":       `'grant ' || ROW.subject`, "owners": `'owners ' || ROW.app_id`, "limits": `'limits'`,
}

// Whoever needs some of the same locks takes them in the same order: names, among them those of chats that are not known
// yet, and then chats by key.
func TestLocksAreTakenInOneOrder(t *testing.T) {
	d, err := Open(t.Context(), Config{URL: "sqlite://" + filepath.Join(t.TempDir(), "magpie.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close() //nolint:errcheck // nothing to lose
	d.CheckLocks(t)
	key := func(name string) chat.Key {
		k, err := chat.ParseKey("feishu:chat:" + name)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	one, topic, two, unknown := key("oc_1"), key("oc_1:thread:omt_1"), key("oc_2"), key("oc_0:thread:omt_9")
	for _, k := range []chat.Key{two, topic, one} {
		e := Inbound{Incoming: chat.Incoming{Key: k, Kind: chat.Group, ID: "om_" + k.String()}, Class: chat.Overheard}
		if _, err := d.Messages().Accept(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		need  locks
		taken string
	}{
		{locks{}, ""},
		{locks{chats: []chat.Key{one}}, "oc_1"},
		{locks{chats: []chat.Key{unknown}}, "room oc_0"},
		{locks{room: one}, "room oc_1, oc_1, oc_1:thread:omt_1"},
		{locks{room: topic}, "room oc_1, oc_1:thread:omt_1"},
		{locks{chats: []chat.Key{two, unknown, topic, two, one}}, "room oc_0, oc_1, oc_1:thread:omt_1, oc_2"},
		{locks{names: []string{"b", "a", "b"}, chats: []chat.Key{two}, room: one},
			"a, b, room oc_1, oc_1, oc_1:thread:omt_1, oc_2"},
	} {
		var taken []string
		if err := d.tx(t.Context(), c.need, func(ctx context.Context, tx *sql.Tx) (err error) {
			taken, err = queryAll(ctx, tx, scanText, `SELECT name FROM temp.locked ORDER BY rowid`)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(strings.Join(taken, ", "), "feishu:chat:", ""); got != c.taken {
			t.Errorf("for %+v: %s, want %s", c.need, got, c.taken)
		}
	}
}
