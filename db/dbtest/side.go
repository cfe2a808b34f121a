package dbtest

import (
	"database/sql"
	"testing"
)

// Side opens a connection beside those of the program, for what a test looks at or changes behind its back. It is closed
// when the test ends, at the latest.
func Side(t testing.TB, path string) *sql.DB {
	t.Helper()
	driver, source := "sqlite3", "file:"+path+"?_busy_timeout=5000"
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

// KeepOut begins a transaction that lets nobody else write.
func KeepOut() string {
	if OnPostgres() {
		return "BEGIN; LOCK TABLE chats"
	}
	return "BEGIN IMMEDIATE"
}
