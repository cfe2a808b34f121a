package db_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"

	"magpie/db"
	"magpie/db/dbtest"
)

// Everything that the program stores can be read back. An unreadable row is reported with its ID.
func TestUnreadableRowsAreNamed(t *testing.T) {
	path := dbtest.Create(t)
	d := open(t, path)
	accept(t, d, say("om_1", "words"))
	finish(t, d, db.TurnResult{Turn: claim(t, d, "s").Turn, Answer: "answer", Session: db.Session{ID: "s"},
		Usage: &db.Usage{}})
	if rows, err := d.Messages().Unreadable(t.Context()); err != nil || len(rows) != 0 {
		t.Fatalf("%v, %v", rows, err)
	}
	broken := []string{`INSERT INTO chats (no, key, kind) VALUES (9, 'feishu:chat:oc:1', 'p2p')`,
		`INSERT INTO messages (id, chat_key, seq, epoch, turn_id, message_id, role, class, content, sent_at)
			VALUES (8, 'feishu:chat:oc:1', 1, 0, 1, 'om_8', 'user', 'talk', 'x', 1)`}
	want := []string{"chats 2", "messages 8", "messages 1", "turns 7"}
	if dbtest.OnPostgres() { // whose numbers are numbers
		want = []string{"chats", "messages"}
	} else {
		broken = append(broken, `UPDATE messages SET sent_at = 'now' WHERE message_id = 'om_1'`,
			`INSERT INTO turns (id, chat_key, epoch, state, created_at) VALUES (7, 'feishu:chat:oc_1', 0, 'queued', 'now')`)
	}
	if err := d.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		for _, statement := range broken {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	ro, err := db.OpenReadOnly(t.Context(), db.Config{URL: dbtest.URL(path)})
	if err != nil {
		t.Fatal(err)
	}
	defer ro.Close() //nolint:errcheck // opened read-only
	rows, err := ro.Messages().Unreadable(t.Context())
	var got []string
	for _, row := range rows {
		if name := fmt.Sprint(row.Table, " ", row.Row); dbtest.OnPostgres() {
			got = append(got, row.Table) // its rows move
		} else {
			got = append(got, name)
		}
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, want %v, %v", rows, want, err)
	}
}
