package dbtest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// SelectTables is a query for the names of all tables.
func SelectTables() string {
	if OnPostgres() {
		return `SELECT tablename FROM pg_tables WHERE schemaname = current_schema()`
	}
	return `SELECT name FROM sqlite_master WHERE type = 'table'`
}

// Content is all that a database holds, for a test of what it must not hold: the content of SQLite's files, or the rows
// of all tables of PostgreSQL.
func Content(t testing.TB, path string) string {
	t.Helper()
	var all strings.Builder
	if !OnPostgres() {
		files, err := filepath.Glob(path + "*")
		if err != nil || len(files) == 0 {
			t.Fatalf("files %q, %v", files, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil && !errors.Is(err, fs.ErrNotExist) { // a closed one has fewer files
				t.Fatal(err)
			}
			all.Write(data)
		}
		return all.String()
	}
	side := Side(t, path)
	defer side.Close() //nolint:errcheck // only read
	rows, err := side.QueryContext(t.Context(), SelectTables())
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close() //nolint:errcheck // only read
	for rows.Next() {
		var table, content string
		err := rows.Scan(&table)
		if err == nil {
			err = side.QueryRowContext(t.Context(), `SELECT COALESCE(string_agg(r::text, E'\n'), '') FROM "`+table+`" AS r`).Scan(&content)
		}
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(content)
	}
	if err := rows.Err(); err != nil || all.Len() == 0 {
		t.Fatalf("%d bytes, %v", all.Len(), err)
	}
	return all.String()
}
