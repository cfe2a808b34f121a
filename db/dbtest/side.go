package dbtest

import (
	"database/sql"
	"net/url"
	"regexp"
	"testing"
)

// Side opens a connection beside those of the program, for what a test looks at or changes behind its back. It is closed
// when the test ends, at the latest.
func Side(t testing.TB, path string) *sql.DB {
	t.Helper()
	driver, source := "sqlite3", "file:"+(&url.URL{Path: path}).EscapedPath()+"?_busy_timeout=5000"
	if OnPostgres() {
		driver, source = "pgx", URL(path)
	}
	side, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := side.Close(); err != nil {
			t.Error(err)
		}
	})
	return side
}

var parameter = regexp.MustCompile(`\?(\d+)`)

// Statement is a statement for [Side] with the parameters ?1 and so on, in the words of its engine.
func Statement(s string) string {
	if OnPostgres() {
		return parameter.ReplaceAllString(s, "$$$1")
	}
	return s
}

// KeepOut begins a transaction that lets nobody else write.
func KeepOut() string {
	if OnPostgres() {
		return "BEGIN; LOCK TABLE chats"
	}
	return "BEGIN IMMEDIATE"
}
