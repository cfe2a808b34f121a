package dbtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver

	"magpie/db"
)

// server is the URL of the PostgreSQL server whose databases the tests use in place of files; empty = they use files. Its
// role may create databases.
var server = os.Getenv("MAGPIE_TEST_POSTGRES")

// OnPostgres reports whether tests use databases of a PostgreSQL server.
func OnPostgres() bool { return server != "" }

// OfPostgres skips a test of what only PostgreSQL has.
func OfPostgres(t testing.TB) {
	t.Helper()
	if !OnPostgres() {
		t.Skip("only PostgreSQL: set MAGPIE_TEST_POSTGRES")
	}
}

// databaseOf names the database that stands for a file.
func databaseOf(path string) string {
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	sum := sha256.Sum256([]byte(path))
	return "test_" + hex.EncodeToString(sum[:8])
}

func urlOf(database string) string {
	u, err := url.Parse(server)
	if err != nil {
		panic(err)
	}
	u.Path = "/" + database
	return u.String()
}

// administer runs a statement that is in no transaction, such as CREATE DATABASE. A pool would leave a goroutine, and tests
// look for those.
func administer(statement string) (err error) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	_, err = conn.Exec(ctx, statement)
	return err
}

// postgresTemplate is an empty database with the current schema, which is made once per test binary.
var postgresTemplate = sync.OnceValues(func() (name string, err error) {
	name = fmt.Sprintf("template_%d", os.Getpid())
	if err := administer(`DROP DATABASE IF EXISTS ` + name + ` WITH (FORCE)`); err != nil {
		return "", err
	}
	if err := administer(`CREATE DATABASE ` + name); err != nil {
		return "", err
	}
	d, err := db.Open(context.Background(), db.Config{URL: urlOf(name)})
	if err != nil {
		return "", err
	}
	return name, d.Close()
})

// createDatabase creates the database that stands for a file: an empty one, or with the current schema. The error is
// [fs.ErrExist] if it exists.
func createDatabase(path, template string) error {
	statement := `CREATE DATABASE ` + databaseOf(path)
	if template != "" {
		statement += ` TEMPLATE ` + template + ` STRATEGY file_copy`
	}
	err := administer(statement)
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "42P04" {
		return fs.ErrExist
	}
	return err
}

// drop drops the database that stands for a file when the test has ended.
func drop(t testing.TB, path string) {
	t.Cleanup(func() {
		if err := administer(`DROP DATABASE IF EXISTS ` + databaseOf(path) + ` WITH (FORCE)`); err != nil {
			t.Error(err)
		}
	})
}
