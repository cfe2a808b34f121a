package db_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"magpie/db"
)

// What is done for every message reads no more when there are a million than when there are ten. SQLite plans by
// figures about the data, which it collects at Close: with none, with those of a small database and with those of a
// larger one.
func TestFrequentStatementsUseAnIndex(t *testing.T) {
	for _, stored := range []int{0, 1_000, 20_000} {
		d := analyzed(t, stored)
		for name, query := range db.Frequent {
			t.Run(fmt.Sprintf("%d/%s", stored, name), func(t *testing.T) { usesIndex(t, d, query) })
		}
	}
}

// analyzed is a database with so many messages, and with SQLite's figures about them.
func analyzed(t *testing.T, stored int) *db.DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "magpie.db")
	d := open(t, path)
	if stored == 0 {
		return d
	}
	fill(t, d, stored)
	if err := d.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `ANALYZE`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return open(t, path)
}

func usesIndex(t *testing.T, d *db.DB, query string) {
	t.Helper()
	for _, step := range plan(t, d, query) {
		if step == "SCAN turns" || step == "SCAN messages" || step == "SCAN chats" || step == "SCAN t" ||
			step == "SCAN ledger" || step == "SCAN approvals" || step == "SCAN rules" || step == "SCAN grants" ||
			step == "SCAN files" || step == "SCAN c" || step == "SCAN m" || step == "SCAN events" ||
			strings.HasPrefix(step, "SCAN mem") {
			t.Errorf("reads a whole table: %s", step)
		}
		if strings.Contains(step, "turns") && strings.Contains(step, "INTEGER PRIMARY KEY (rowid>?)") {
			t.Errorf("reads most of a table: %s", step)
		}
	}
}

func plan(t *testing.T, d *db.DB, query string) (steps []string) {
	t.Helper()
	err := d.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) (err error) {
		args := []any{"feishu:chat:oc_1", 1, 2, 3, 4, 5, 6, 7, 8}
		n := 0
		for n < len(args) && strings.Contains(query, "?"+string(rune('1'+n))) {
			n++
		}
		rows, err := tx.QueryContext(ctx, "EXPLAIN QUERY PLAN "+query, args[:n]...)
		if err != nil {
			return err
		}
		defer rows.Close() //nolint:errcheck // rows.Err tells
		for rows.Next() {
			var id, parent, unused int
			var step string
			if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
				return err
			}
			steps = append(steps, step)
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return steps
}
