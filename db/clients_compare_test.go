package db_test

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"magpie/db"
)

// compared are the tables, and the columns that depend on the engine, or on what is written besides.
var compared = map[string]string{
	"chats": "no owner fence", "messages": "id actor_name", "turns": "draft part_ends", "sessions": "", "memories": "", "memory_versions": "",
	"embeddings": "", "approvals": "", "rules": "", "files": "id", "grants": "", "ledger": "id", "file_deliveries": "id", "owners": "",
	"outbox": "file_delivery_id", "agent_folders": "", "titles": "", "steers": "", "silenced": "", "digests": "", "limits": "",
	"events": "", "answer_pages": "answer",
}

// turnColumns hold numbers of turns.
var turnColumns = []string{"turn_id", "continues", "follows", "needed_by", "session_turn"}

// compareAll reports what two databases do not have in common.
func compareAll(t *testing.T, many, one *db.DB) {
	t.Helper()
	rows := 0
	for table := range compared {
		a, b := dump(t, many, table), dump(t, one, table)
		rows += len(a)
		count := map[string]int{}
		for _, row := range a {
			count[row]++
		}
		for _, row := range b {
			count[row]--
		}
		var differ []string
		for row, n := range count {
			if n != 0 {
				differ = append(differ, fmt.Sprintf("%+d %s", n, row))
			}
		}
		slices.SortFunc(differ, func(a, b string) int { return strings.Compare(a[2:], b[2:]) })
		if len(differ) > 0 {
			t.Errorf("%s: %d rows differ; + is only there after many at once:\n%s", table, len(differ), strings.Join(differ[:min(len(differ), 10)], "\n"))
		}
	}
	t.Logf("%d rows compared", rows)
}

// dump returns the rows of a table as texts, without those of what is swept.
func dump(t *testing.T, d *db.DB, table string) (list []string) {
	t.Helper()
	of := turnsOf(t, d)
	name := func(turn int64) string {
		if p, ok := of[turn]; ok {
			return fmt.Sprintf("%s#%d", p.chat, p.nth)
		}
		return fmt.Sprint(turn)
	}
	order := ""
	if table == "outbox" {
		order = " ORDER BY id"
	}
	rows, err := d.Read(`SELECT * FROM ` + table + order)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close() //nolint:errcheck // only read
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	nth := map[string]int{} // of the posts of a chat
	for rows.Next() {
		values := make([]any, len(columns))
		to := make([]any, len(columns))
		for i := range values {
			to[i] = &values[i]
		}
		if err := rows.Scan(to...); err != nil {
			t.Fatal(err)
		}
		var fields []string
		for i, column := range columns {
			if slices.Contains(strings.Fields(compared[table]), column) {
				continue
			}
			var s string
			switch v := values[i].(type) {
			case []byte:
				s = string(v)
			case bool:
				s = map[bool]string{true: "1", false: "0"}[v]
			case int64:
				s = fmt.Sprint(v)
				if slices.Contains(turnColumns, column) || table == "turns" && column == "id" {
					s = name(v)
				}
			default:
				s = fmt.Sprint(v)
			}
			if table == "outbox" && column == "id" {
				continue
			}
			fields = append(fields, column+"="+rename(s, name))
			if table == "outbox" && column == "chat_key" {
				fields = append(fields, fmt.Sprint("nth=", nth[s]))
				nth[s]++
			}
		}
		sort.Strings(fields)
		if row := strings.Join(fields, " "); !strings.Contains(row, "oc_swept") {
			list = append(list, row)
		}
	}
	if rows.Err() != nil {
		t.Fatal(rows.Err())
	}
	return list
}
