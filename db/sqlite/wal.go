package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"time"
)

// walLimit is the size in bytes from which the write-ahead log is truncated actively, and to which
// SQLite cuts its file when the log starts over.
const walLimit = 64 << 20

// readersTime is how long trim waits for readers, while writers wait, too.
const readersTime = 200 * time.Millisecond

func walSize(path string) int64 {
	info, err := os.Stat(path + "-wal")
	if err != nil {
		return 0 // there is no log until the first write
	}
	return info.Size()
}

// hasLog reports whether the last program that wrote the database did not close it.
func hasLog(path string) bool { return walSize(path) > 0 }

// trimLog empties the log when it has become long. SQLite copies it into the database every 1000 pages, but starts over
// only when a write finds no reader in it. With enough readers that never happens by itself. trim makes it happen,
// since readers that begin after everything was copied use the database file. Against a reader that never ends, trim
// gives up after a moment, and tries again when the log has grown by the same amount.
func (w *writer) trimLog(ctx context.Context, conn *sql.Conn) {
	if w.files == nil { // read-only
		return
	}
	size := w.files.logSize.Load() // before the group's commit
	if size < w.trimAt {
		return
	}
	var busy, pages, copied int
	_, _ = conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", w.readersTime.Milliseconds()))
	err := conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &copied)
	_, _ = conn.ExecContext(ctx, "PRAGMA busy_timeout = 5000")
	w.trimAt = w.walLimit
	if err != nil || busy != 0 {
		w.trimAt = size + w.walLimit
	}
}
