package postgres

import (
	"database/sql/driver"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"magpie/db/engine"
)

// Codes of errors (page "PostgreSQL Error Codes").
const (
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	uniqueViolation      = "23505"
	diskFull             = "53100"
	adminShutdown        = "57P01"
	crashShutdown        = "57P02"
	connectionException  = "08" // and three more characters
	lockNotAvailable     = "55P03"
)

func codeOf(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// isConflict reports whether a transaction has met another one, and may succeed when it is repeated.
func isConflict(err error) bool {
	switch codeOf(err) {
	case serializationFailure, deadlockDetected, uniqueViolation:
		return true
	}
	return false
}

// Explain converts the errors of queries that somebody has to act on to errors that say so.
func (d *DB) Explain(err error) error {
	if codeOf(err) == diskFull {
		return &accessError{engine.ErrFull, errors.Join(engine.ErrFull, err)}
	}
	if errors.Is(err, driver.ErrBadConn) { // the connection has broken, and another one may be no better
		return away(d.config, err)
	}
	return explainAccess(d.config, err)
}
