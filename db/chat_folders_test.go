package db_test

import (
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
)

func TestEachChatHasOneFolderOfARandomName(t *testing.T) {
	path := dbtest.Create(t)
	d := open(t, path)
	keys := []chat.Key{oc, {Channel: "feishu", Kind: "chat", ID: "oc_2"},
		{Channel: "feishu", Kind: "chat", ID: "oc_2", Thread: "omt_1"}}
	if _, err := d.Folders().Get(t.Context(), oc); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("before the first agent: %v", err)
	}
	seen := map[string]chat.Key{}
	for _, key := range keys {
		ids := make([]string, 8) // of agents that start concurrently
		var all sync.WaitGroup
		for i := range ids {
			all.Go(func() {
				id, err := d.Folders().FindOrCreate(t.Context(), key)
				if err != nil {
					t.Error(err)
				}
				ids[i] = id
			})
		}
		all.Wait()
		if u, err := uuid.Parse(ids[0]); err != nil || u.Version() != 4 || len(slices.Compact(ids)) != 1 {
			t.Errorf("%v: %q, %v", key, ids, err)
		}
		seen[ids[0]] = key
		if whose, err := d.Folders().Chat(t.Context(), ids[0]); whose != key || err != nil {
			t.Errorf("%s is the folder of %v, %v; want %v", ids[0], whose, err, key)
		}
	}
	if len(seen) != len(keys) {
		t.Errorf("folders %v", seen)
	}
	if _, err := d.Folders().Chat(t.Context(), uuid.NewString()); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("a folder without a chat: %v", err)
	}
	if list, err := d.Folders().Unmoved(t.Context()); len(list) != 0 || err != nil {
		t.Errorf("new chats have sessions elsewhere: %v, %v", list, err)
	}
}

// An agent may be started before its chat is known.
func TestAFolderIsBoundToAChatThatHasNone(t *testing.T) {
	d := fresh(t)
	early, late := uuid.NewString(), uuid.NewString()
	if id, err := d.Folders().Bind(t.Context(), oc, early); id != early || err != nil {
		t.Errorf("the first folder: %q, %v", id, err)
	}
	if id, err := d.Folders().Bind(t.Context(), oc, late); id != early || err != nil {
		t.Errorf("the second folder: %q, %v", id, err)
	}
	if _, err := d.Folders().Bind(t.Context(), chat.Key{Channel: "feishu", Kind: "chat", ID: "oc_2"}, early); err == nil {
		t.Error("two chats share a folder")
	}
}

// Chats whose sessions are older than the folders get one each. Their sessions are listed until they were moved there.
func TestSessionsOfOlderChatsAreToBeMoved(t *testing.T) {
	path := dbtest.Create(t)
	d := open(t, path)
	accept(t, d, say("om_1", "hello"))
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := sql.Open("sqlite3", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{
		`DROP TABLE agent_folders`, `DROP TABLE titles`, `DROP INDEX messages_nameless`,
		`ALTER TABLE file_deliveries RENAME TO parcels`, `DROP INDEX file_deliveries_turn`,
		`CREATE INDEX parcels_turn ON parcels (turn_id)`, `ALTER TABLE outbox RENAME COLUMN file_delivery_id TO parcel_id`,
		`ALTER TABLE turns DROP COLUMN follows`, `ALTER TABLE turns DROP COLUMN part_ends`,
		`DROP INDEX turns_ended`, `DROP TABLE digests`, `ALTER TABLE approvals DROP COLUMN repeated_at`,
		`ALTER TABLE outbox DROP COLUMN obstacle`, `ALTER TABLE outbox DROP COLUMN why`, `ALTER TABLE outbox DROP COLUMN mentions`, `DROP TABLE silenced`, `DROP TABLE steers`, `DROP INDEX messages_decided`, `DROP INDEX approvals_undelivered`, `ALTER TABLE approvals DROP COLUMN needed_by`,
		`ALTER TABLE approvals DROP COLUMN continued`,
		`ALTER TABLE approvals DROP COLUMN answers`, `ALTER TABLE approvals DROP COLUMN delivered`,
		`ALTER TABLE turns RENAME COLUMN context_report TO told`,
		`ALTER TABLE chats RENAME COLUMN restart_seq TO anew_seq`, `UPDATE turns SET told = '{"session":"live"}'`,
		`DELETE FROM goose_db_version WHERE version_id >= 18`,
		`UPDATE turns SET session_id = 's-1'`, `UPDATE chats SET session_id = 's-2'`,
		`INSERT INTO sessions (chat_key, node, epoch, session_id, cwd, turn_id) VALUES ('` + oc.String() +
			`', 'other', 1, 's-3', '/', 1)`,
		`INSERT INTO chats (no, key, kind) VALUES (7, 'feishu:chat:oc_new', 'p2p')`,
	} {
		if _, err := raw.Exec(s); err != nil {
			t.Fatal(s, err)
		}
	}
	if err := raw.Close(); err != nil {
		t.Fatal(err)
	}
	d = open(t, path)
	if r, err := d.Turns().LastReport(t.Context(), oc, 0); r.Session != db.Live || err != nil {
		t.Errorf("context report %+v, %v", r, err)
	}
	list, err := d.Folders().Unmoved(t.Context())
	if err != nil || len(list) != 1 || list[0].Chat != oc.String() ||
		strings.Join(list[0].Sessions, " ") != "s-1 s-2 s-3" {
		t.Fatalf("to be moved: %+v, %v", list, err)
	}
	if u, err := uuid.Parse(list[0].ID); err != nil || u.Version() != 4 || u.Variant() != uuid.RFC4122 ||
		u.String() != list[0].ID {
		t.Errorf("folder %q: %v", list[0].ID, err)
	}
	if id, err := d.Folders().FindOrCreate(t.Context(), oc); id != list[0].ID || err != nil {
		t.Errorf("the chat's folder is %q, %v", id, err)
	}
	if err := d.Folders().MarkMoved(t.Context(), list[0].ID); err != nil {
		t.Fatal(err)
	}
	if list, err := d.Folders().Unmoved(t.Context()); len(list) != 0 || err != nil {
		t.Errorf("after the move: %+v, %v", list, err)
	}
}
