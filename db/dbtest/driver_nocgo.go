//go:build !cgo || !(sqlite_fts5 || fts5)

package dbtest

import (
	"database/sql"

	"modernc.org/sqlite"
)

// Tests open the file a second time under the name of the other driver.
func init() { sql.Register("sqlite3", &sqlite.Driver{}) }
