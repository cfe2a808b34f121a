package db_test

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/racetest"
)

// The statements for every message read no more rows in a database of a million messages than in one of ten. SQLite
// plans with statistics that are collected at Close: tested without any, with those of a small database and with those
// of a larger one.
func TestFrequentStatementsUseAnIndex(t *testing.T) {
	dbtest.OfSQLite(t)
	racetest.Skip(t)
	for _, stored := range []int{0, 1_000, 20_000} {
		d := analyzed(t, stored)
		for name, query := range db.Frequent {
			t.Run(fmt.Sprintf("%d/%s", stored, name), func(t *testing.T) { usesIndex(t, d, query) })
		}
	}
}

// analyzed is a database with that many messages, and with SQLite's statistics about them.
func analyzed(t *testing.T, stored int) *db.DB {
	t.Helper()
	path := dbtest.Create(t)
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

// ofChat are the statements that may read all rows of a chat, each with the reason why these do not grow with the chat.
var ofChat = map[string]string{
	"the last context report": "in the order of the index, until the first row that has something, which most have",
	"the answer on a card":    "in the order of the index, 300 at most",
	"the last messages":       "in the order of the index, as many as are wanted",
	"the oldest message":      "in the order of the index, one",
	"sessions":                "asked for by a command",
	"where an epoch begins":   "in the order of the index, one",
	"who has asked last":      "in the order of the index, until the first question",
	"an interrupted turn":     "whether there is one after a turn",
	"memories of a message":   "the memories of a chat are few",
}

// leadsTo matches a step of a plan that reads rows of the largest tables by an index.
var leadsTo = regexp.MustCompile(`^SEARCH (?:turns|messages|t|m) USING (?:COVERING )?INDEX (\w+) \(([^)]*)\)`)

// What a statement reads must not grow with its chat either. That holds even without statistics: a service may run for
// months before they are collected.
func TestFrequentStatementsReadNoWholeChat(t *testing.T) {
	dbtest.OfSQLite(t)
	racetest.Skip(t)
	for _, stored := range []int{0, 20_000} {
		d := analyzed(t, stored)
		for name, query := range db.Frequent {
			for _, step := range plan(t, d, query) {
				m := leadsTo.FindStringSubmatch(step)
				if m == nil {
					continue
				}
				few := m[1] == "turns_open" || m[1] == "turns_interrupted" || m[1] == "turns_newest_buttons"
				if whole := m[2] == "chat_key=?" || m[2] == "chat_key=? AND turn_id>?"; whole && !few &&
					ofChat[name] == "" {
					t.Errorf("with %d messages, %s: %s", stored, name, step)
				}
			}
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
