//go:build !cgo

package dbtest

import (
	"database/sql"

	"modernc.org/sqlite"
)

// Tests open the file a second time under the name of the driver that is used with cgo.
func init() { sql.Register("sqlite3", &sqlite.Driver{}) }
