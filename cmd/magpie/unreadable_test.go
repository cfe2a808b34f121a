package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

// badRows are invalid rows, one of each kind, by the table and rowid that the log names.
var badRows = []struct{ name, plant string }{
	{"chats 991", `INSERT INTO chats (rowid, no, key, kind) VALUES (991, 991, 'feishu:chat:oc:1', 'p2p')`},
	{"messages 991", `INSERT INTO chats (rowid, no, key, kind) VALUES (991, 991, 'feishu:chat:oc:1', 'p2p');
		INSERT INTO messages (id, chat_key, seq, epoch, turn_id, message_id, role, class, content, sent_at)
			VALUES (991, 'feishu:chat:oc:1', 1, 0, 991, 'om_bad', 'user', 'talk', 'x', 1);
		INSERT INTO turns (id, chat_key, epoch, state, created_at) VALUES (991, 'feishu:chat:oc:1', 0, 'queued', 1)`},
	{"turns 991", `INSERT INTO turns (id, chat_key, epoch, state, created_at)
		VALUES (991, 'feishu:chat:', 0, 'running', 1)`},
	{"turns 991", `INSERT INTO turns (id, chat_key, epoch, state, created_at)
		VALUES (991, KEY, 0, 'running', 'yesterday')`},
	{"turns 991", `INSERT INTO turns (id, chat_key, epoch, state, created_at)
		VALUES (991, 'feishu:chat:oc_other', 0, 'queued', 'yesterday')`},
	{"chats 992", `UPDATE chats SET settings = '{' WHERE rowid = 992;
		INSERT INTO turns (id, chat_key, epoch, state, created_at)
		VALUES (991, 'feishu:chat:oc_other', 0, 'running', 1)`},
	{"chats 992", `UPDATE chats SET settings = '[]', compact_for = 'om_x' WHERE rowid = 992`},
	{"chats 992", `UPDATE chats SET epoch = 'first' WHERE rowid = 992;
		INSERT INTO turns (id, chat_key, epoch, state, created_at)
		VALUES (991, 'feishu:chat:oc_other', 0, 'queued', 1)`},
	{"approvals 991", approvalRow(`'feishu:chat:a:b:c'`, `'[]'`, `1`)},
	{"approvals 991", approvalRow(`KEY`, `'{'`, `1`)},
	{"approvals 991", approvalRow(`KEY`, `'[]'`, `'now'`)},
	{"approvals 991", approvalRow(`KEY`, `'[]'`, `1`)}, // with a wrong hash
	{"outbox 991", `INSERT INTO outbox (id, chat_key, idem, reply_to, content, card, next_at, created_at)
		VALUES (991, KEY, 'bad', 'om_x', '{', 1, 1, 1)`},
	{"outbox 991", `INSERT INTO outbox (id, chat_key, idem, reply_to, content, next_at, created_at)
		VALUES (991, '::', 'bad', 'om_x', 'x', 1, 1)`},
	{"outbox 991", `INSERT INTO outbox (id, chat_key, idem, reply_to, content, next_at, created_at)
		VALUES (991, KEY, 'bad', 'om_x', 'x', 1, 'now')`},
	{"memories 991", `INSERT INTO memories (rowid, id, chat_key, number, scope, state, title, content, keywords,
		version, created_at, updated_at) VALUES (991, 'bad', KEY, 991, 'chat', 'active', 'x', 'x', '{', 1, 1, 1)`},
	{"memory_versions 991", `INSERT INTO memory_versions (rowid, memory_id, version, chat_key, number, act, who, why,
		at, title_hash, scope, of, state, title, content, keywords, sources)
		VALUES (991, 'bad', 1, KEY, 991, 'created', '', '', 1, '', 'chat', '', 'active', 'x', 'x', '[]', '5')`},
	{"grants 991", `INSERT INTO grants (rowid, subject, state, chat_key) VALUES (991, 'ou_bad', 'asked', 'nowhere')`},
	{"rules 991", `INSERT INTO rules (rowid, chat_key, number, project, tool, kind, content, made_by, maker, made_at)
		VALUES (991, KEY, 991, '', 'Bash', 'exact', 'ls', '', '', 'now')`},
	{"messages 991", `INSERT INTO messages (id, chat_key, seq, epoch, message_id, role, class, content, sent_at)
		VALUES (991, KEY, 991, 0, 'om_bad', 'user', 'talk', 'x', 'now')`},
	{"files 991", `INSERT INTO files (id, chat_key, message_id, number, kind, held_by, file_key, name, length_ms,
		state, created_at) VALUES (991, KEY, 'om_bad', 1, 'image', '', '', '', 'long', 'here', 1)`},
	{"file_deliveries 991", `INSERT INTO file_deliveries (id, chat_key, turn_id, idem, name, picture, caption, size, copy, created_at)
		VALUES (991, KEY, 1, 'bad', '', 0, '', 'big', '', 1)`},
	{"sessions 991", `INSERT INTO sessions (rowid, chat_key, node, epoch, session_id, cwd, turn_id)
		VALUES (991, KEY, 'n', 0, 's', '/', 'last')`},
	{"ledger 991", `INSERT INTO ledger (id, at, chat_key, purpose, model, tokens, cost_usd)
		VALUES (991, 'now', KEY, 'turn', '', 'many', 1)`},
	{"events 991", `INSERT INTO events (rowid, id, seen_at) VALUES (991, 'bad', 'now')`},
	// the table has no rowid to name
	{"", `INSERT INTO owners (app_id, user_id, source, since) VALUES (APP, 'ou_bad', 'code', 'now')`},
}

func approvalRow(key, askers, created string) string {
	return `INSERT INTO approvals (rowid, id, chat_key, turn_id, tool, input, hash, project, askers, state,
		created_at, expires_at) VALUES (991, 'bad', ` + key + `, 991, 'Bash', '{}', 'h', '/', ` + askers + `,
		'waiting', ` + created + `, 1)`
}

// Whatever a row contains, the program starts, works, and logs the row.
func TestABadRowBlocksNothingElse(t *testing.T) {
	dbtest.OfSQLite(t)
	t.Parallel()
	r := makeRig(t, feishusim.Config{})
	r.start()
	r.ask("数到 3")
	r.stop()
	r.sql(`INSERT INTO chats (rowid, no, key, kind) VALUES (992, 992, 'feishu:chat:oc_other', 'p2p')`)
	data, err := os.ReadFile(databaseOf(r.cfg))
	must(t, err)
	key := chat.FeishuChat(r.chat)
	var all []string
	for _, bad := range badRows {
		// some plant the same row
		all = append(all, strings.ReplaceAll(bad.plant, "INSERT INTO", "INSERT OR IGNORE INTO"))
		t.Run(bad.name, func(t *testing.T) {
			r := makeRig(t, feishusim.Config{})
			r.startWith(data, key, bad.plant)
			id := r.sim.Say(r.chat, r.user, "/help")
			r.await("an answer", func(v *feishusim.View) bool { return len(replies(v, r.chat, id)) == 1 })
			if table, row, ok := strings.Cut(bad.name, " "); ok {
				r.awaitLog(`"table":"` + table + `","row":"` + row + `",`)
			}
			r.stop()
		})
	}
	r = makeRig(t, feishusim.Config{}, withPages)
	r.startWith(data, key, all...)
	if got := r.ask("数到 4"); !strings.Contains(got, "4") {
		t.Errorf("with all of them the answer is %q", got)
	}
	r.until("the metrics to count the rows", func() bool {
		_, page := r.get("/metrics")
		return regexp.MustCompile(`\nmagpie_store_unreadable_rows [1-9]`).MatchString(page)
	})
	r.stop()
}

// startWith starts the program with a database into which rows were planted.
func (r *rig) startWith(data []byte, key chat.Key, plants ...string) {
	r.Helper()
	path := filepath.Join(r.TempDir(), "magpie.db")
	must(r, os.WriteFile(path, data, 0o600))
	r.cfg.DB.URL = "sqlite://" + path
	raw, err := sql.Open("sqlite3", path)
	must(r, err)
	fill := strings.NewReplacer("KEY", "'"+key.String()+"'", "APP", "'"+r.cfg.Feishu.AppID+"'")
	for _, plant := range plants {
		const unchecked = `PRAGMA ignore_check_constraints = 1; PRAGMA foreign_keys = 0; `
		_, err = raw.ExecContext(r.Context(), unchecked+fill.Replace(plant))
		must(r, err)
	}
	must(r, raw.Close())
	r.start()
}
