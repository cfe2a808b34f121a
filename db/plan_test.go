package db_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"magpie/db"
)

// What is done for every message reads no more when there are a million than when there are ten.
func TestFrequentStatementsUseAnIndex(t *testing.T) {
	for name, query := range db.Frequent {
		t.Run(name, func(t *testing.T) {
			for _, step := range plan(t, query) {
				if step == "SCAN turns" || step == "SCAN messages" || step == "SCAN chats" || step == "SCAN t" {
					t.Errorf("reads a whole table: %s", step)
				}
				if strings.Contains(step, "turns") && strings.Contains(step, "INTEGER PRIMARY KEY (rowid>?)") {
					t.Errorf("reads most of a table: %s", step)
				}
			}
		})
	}
}

func plan(t *testing.T, query string) (steps []string) {
	t.Helper()
	err := fresh(t).Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) (err error) {
		args := []any{"feishu:chat:oc_1", 1, 2, 3, 4}
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
