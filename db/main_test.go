package db_test

import (
	"context"
	"database/sql"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type job = func(ctx context.Context, tx *sql.Tx) error
