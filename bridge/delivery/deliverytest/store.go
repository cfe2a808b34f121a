package deliverytest

import (
	"database/sql"
	"errors"
	"testing"
	"time"

	"magpie/db"
	"magpie/db/dbtest"
)

// Store is a real database that a test can inspect and change behind the program's back.
type Store struct {
	*db.DB
	Path string // of the file
	t    testing.TB
}

// NewStore makes an empty database, which is closed when the test ends.
func NewStore(t testing.TB) *Store {
	t.Helper()
	path := dbtest.Create(t)
	return &Store{DB: dbtest.Open(t, path), Path: path, t: t}
}

// Side opens a separate connection.
func (s *Store) Side() *sql.DB {
	s.t.Helper()
	return dbtest.Side(s.t, s.Path)
}

// SQL runs a statement.
func (s *Store) SQL(statement string) {
	s.t.Helper()
	side := s.Side()
	_, err := side.Exec(statement)
	if err = errors.Join(err, side.Close()); err != nil {
		s.t.Fatal(err)
	}
}

// Count returns the result of a query for a number.
func (s *Store) Count(query string) (n int) {
	s.t.Helper()
	side := s.Side()
	if err := errors.Join(side.QueryRow(query).Scan(&n), side.Close()); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// Until waits until cond returns true, which may take long on a busy machine. It asks less often the longer that
// takes: many conditions open the database.
func Until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	pause := 2 * time.Millisecond
	for deadline := time.Now().Add(90 * time.Second); !cond(); pause = min(pause*3/2, 30*time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waiting for %s", what)
		}
		time.Sleep(pause)
	}
}
