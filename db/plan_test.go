package db_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"magpie/db"
)

// An accept reads no more turns when there are a million than when there are ten.
func TestAcceptLooksForAQueuedTurnByIndex(t *testing.T) {
	d := fresh(t)
	var plan []string
	if err := d.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) (err error) {
		rows, err := tx.QueryContext(ctx, "EXPLAIN QUERY PLAN "+db.QueuedTurn, "feishu:chat:oc_1", 0)
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
			plan = append(plan, step)
		}
		return rows.Err()
	}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(plan, "\n"); got != "SEARCH turns USING INDEX turns_open (chat_key=?)" {
		t.Errorf("plan:\n%s", got)
	}
}
