package db_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"magpie/db"
)

// What the program stores itself can be read, all of it; what cannot is named by its row.
func TestUnreadableRowsAreNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "magpie.db")
	d := open(t, path)
	accept(t, d, say("om_1", "words"))
	finish(t, d, db.TurnResult{Turn: claim(t, d, "s").Turn, Answer: "answer", Session: db.Session{ID: "s"}, Usage: &db.Usage{}})
	if rows, err := d.Unreadable(t.Context()); err != nil || len(rows) != 0 {
		t.Fatalf("%v, %v", rows, err)
	}
	if err := d.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO turns (id, chat_key, epoch, state, created_at) VALUES (7, 'feishu:chat:oc_1', 0, 'queued', 'now');
			UPDATE messages SET sent_at = 'now' WHERE message_id = 'om_1'`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	ro, err := db.OpenReadOnly(t.Context(), db.Config{URL: "sqlite://" + path})
	if err != nil {
		t.Fatal(err)
	}
	defer ro.Close() //nolint:errcheck // it was only read
	rows, err := ro.Unreadable(t.Context())
	if err != nil || len(rows) != 2 || rows[0].Table != "messages" || rows[0].Row != 1 || !strings.HasPrefix(rows[1].String(), "turns row 7: ") {
		t.Errorf("%v, %v", rows, err)
	}
}
