package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"magpie/db/engine"
	"magpie/internal/diskspace"
	"magpie/internal/i18n"
)

// A quick check takes about 1 ms per MB of a database in the page cache, and 10 on a slow disk.
const (
	smallDatabase = 256 << 20        // bytes; every Open checks a database up to this size
	quickCheck    = 10 * time.Second // time limit at startup
)

// checkQuickly looks for damage at Open. A database larger than small bytes is checked only if its last program did not
// close it, since that is when damage happens. What cannot be read in time is left to Check.
func checkQuickly(ctx context.Context, d *DB, closed bool, small int64) error {
	info, err := os.Stat(d.path)
	if err != nil {
		return fmt.Errorf("size of the database: %w", err)
	}
	if closed && info.Size() > small {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, quickCheck)
	defer cancel()
	err = check(limited, d, "PRAGMA quick_check(1)")
	if limited.Err() != nil && ctx.Err() == nil {
		return nil
	}
	return err
}

// Check reads the whole database and returns a [*CorruptError] if it is damaged. It takes seconds per GB, and blocks
// nobody.
func (d *DB) Check(ctx context.Context) error { return check(ctx, d, "PRAGMA integrity_check(10)") }

// check runs a pragma that looks for damage; its error tells the operator what to do.
func check(ctx context.Context, d *DB, pragma string) (err error) {
	defer func() { err = explain(d.path, err) }()
	var lost *LostError
	if err := d.files.check(); errors.As(err, &lost) && !lost.Overwritten { // there is a different database there now
		return err
	}
	// On a separate connection: one that has used the index may have cached an older state of it, and take the
	// difference for damage.
	how := url.Values{"_query_only": {"1"}, "_busy_timeout": {"5000"}}
	if d.lock == nil {
		how.Set("mode", "ro")
	}
	own, err := connect(ctx, d.path, 1, how, nil)
	if err != nil {
		return fmt.Errorf("check the database: %w", err)
	}
	return errors.Join(integrity(ctx, own, d.path, pragma), own.Close())
}

// integrity runs a check of SQLite. A [*CorruptError] contains its findings.
func integrity(ctx context.Context, pool *sql.DB, path, pragma string) (err error) {
	rows, err := pool.QueryContext(ctx, pragma)
	if err != nil {
		return fmt.Errorf("check the database: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var found []error
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return err
		}
		if s != "ok" {
			found = append(found, errors.New(s))
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("check the database: %w", err)
	}
	if len(found) > 0 {
		return &CorruptError{Path: path, Err: errors.Join(found...)}
	}
	return nil
}

// headroom is the minimum free space for a healthy database, in bytes: an accept needs some ten pages.
const headroom = 1 << 20

// CheckHealth reports why nothing can be stored at the moment: [engine.ErrFull], a [LostError], a lock that another process
// holds, a disk that does not respond. It really writes, and returns at the latest when ctx ends.
func (d *DB) CheckHealth(ctx context.Context) error {
	done := make(chan error, 1)
	// ends with its group; while a disk hangs there is only one of these
	go func() { done <- probe(ctx, d) }()
	select {
	case err := <-done:
		if err != nil {
			return i18n.Mistakef("写入数据库：%v", "write to the database: %v", err)
		}
		return nil
	case <-ctx.Done():
		return i18n.Mistakef("写入数据库：%v", "write to the database: %v", ctx.Err())
	}
}

// probe commits one page: an otherwise unused number in the database header. The log may have room for this page while
// the disk has none for more.
func probe(ctx context.Context, d *DB) error {
	err := d.writer.do(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "PRAGMA user_version = 0")
		return err
	})
	if err != nil {
		return explain(d.path, err)
	}
	free, err := diskspace.Free(filepath.Dir(d.path))
	if err != nil {
		return fmt.Errorf("space on the disk: %w", err)
	}
	if free < headroom {
		return engine.ErrFull
	}
	return nil
}
