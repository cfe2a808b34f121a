package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// groupLimit limits the transactions per commit.
const groupLimit = 256

// writer runs write transactions. Those that wait during a commit are then committed together, so that the disk syncs
// once for all of them.
type writer struct {
	pool     *sql.DB       // one connection
	leading  chan struct{} // holds a token while a group runs
	finished func()        // called after a group's commit or rollback, before any caller gets its result
	unknown  func()        // see [Options]
	version  int64         // of the file, as other programs have left it; 0 = unknown

	path        string
	files       *openFiles // nil if read-only
	walLimit    int64
	trimAt      int64 // the log size from which trim acts
	readersTime time.Duration

	mu      sync.Mutex
	waiting []*job
}

// job is one write transaction.
type job struct {
	f        func(ctx context.Context, tx *sql.Tx) error
	done     chan struct{} // closed at the end; before that the fields below belong to the group that runs the job
	err      error
	panicked string // the panic of f and its stack; empty = none
}

func newWriter(pool *sql.DB, path string, files *openFiles, o Options) *writer {
	nothing := func() {}
	if o.Finished == nil {
		o.Finished = nothing
	}
	if o.Unknown == nil {
		o.Unknown = nothing
	}
	return &writer{
		pool: pool, leading: make(chan struct{}, 1), finished: o.Finished, unknown: o.Unknown, path: path, files: files,
		walLimit: walLimit, trimAt: walLimit, readersTime: readersTime,
	}
}

// do runs f in a transaction and commits it unless f fails. ctx limits the wait for f to begin. f runs on another
// goroutine; if it panics, so does do.
func (w *writer) do(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("wait for the writer: %w", err)
	}
	if err := w.files.lossError(); err != nil {
		return err
	}
	j := &job{f: f, done: make(chan struct{})}
	w.mu.Lock()
	w.waiting = append(w.waiting, j)
	w.mu.Unlock()
	for {
		select {
		case <-j.done:
			if j.panicked != "" {
				panic(j.panicked)
			}
			return j.err
		case w.leading <- struct{}{}: // nobody is writing
			go w.runGroup()
		case <-ctx.Done():
			if w.withdraw(j) {
				return fmt.Errorf("wait for the writer: %w", ctx.Err())
			}
			ctx = context.WithoutCancel(ctx) // it has begun: it is short, and its result must be known
		}
	}
}

// close closes the writer's connection after the running group. Later calls get an error.
func (w *writer) close() error {
	w.leading <- struct{}{}
	defer func() { <-w.leading }()
	return w.pool.Close()
}

// withdraw removes j from the waiting jobs, and reports whether it was still waiting.
func (w *writer) withdraw(j *job) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(w.waiting, j)
	if i < 0 {
		return false
	}
	w.waiting = slices.Delete(w.waiting, i, i+1)
	return true
}

// waitingJobs returns a copy, since jobs may leave the list at any time.
func (w *writer) waitingJobs() []*job {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.waiting)
}

// collectGroup takes the next group of waiting jobs.
func (w *writer) collectGroup() []*job {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := min(len(w.waiting), groupLimit)
	group := slices.Clone(w.waiting[:n])
	w.waiting = slices.Delete(w.waiting, 0, n)
	return group
}

// runGroup runs one group. Its statements are not interruptible. (That is faster, too: for a context that can end, the
// driver watches every statement from a separate goroutine.)
func (w *writer) runGroup() {
	defer func() { <-w.leading }()
	ctx := context.Background()
	first := w.waitingJobs()
	if len(first) == 0 {
		return
	}
	conn, tx, err := w.begin(ctx)
	if err != nil {
		// Jobs that arrived during the wait for a lock have their own wait ahead.
		for _, j := range first {
			if w.withdraw(j) {
				j.err = err
				close(j.done)
			}
		}
		return
	}
	group := w.collectGroup() // including those that arrived during the wait for a lock
	if err = w.commit(ctx, tx, group); err != nil {
		w.unknown()
	}
	w.finished()
	for _, j := range group {
		if j.err == nil {
			j.err = err
		}
		close(j.done)
	}
	w.trimLog(ctx, conn)
	w.release(conn)
}

// begin checks the files for every transaction: a commit into a deleted or replaced file would be lost without an
// error.
func (w *writer) begin(ctx context.Context) (*sql.Conn, *sql.Tx, error) {
	conn, err := w.pool.Conn(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("open the writer: %w", err)
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		w.release(conn)
		return nil, nil, fmt.Errorf("begin: %w", err)
	}
	err = w.files.check()
	if err == nil {
		err = w.noticeOthers(ctx, tx)
	}
	if err != nil {
		_ = tx.Rollback() // nothing has been done yet
		w.release(conn)
		return nil, nil, err
	}
	return conn, tx, nil
}

// noticeOthers looks whether another program has changed the file since the last group. Each connection has numbers of
// its own.
func (w *writer) noticeOthers(ctx context.Context, tx *sql.Tx) error {
	was := w.version
	if err := tx.QueryRowContext(ctx, "PRAGMA data_version").Scan(&w.version); err != nil {
		return fmt.Errorf("version of the file: %w", err)
	}
	if w.version != was {
		w.unknown()
	}
	return nil
}

// release returns the connection, but closes one that still has an open transaction, on which no other could begin.
func (w *writer) release(conn *sql.Conn) {
	_ = conn.Raw(func(c any) error {
		if inTransaction(c) {
			w.version = 0
			return driver.ErrBadConn
		}
		return nil
	})
	_ = conn.Close() // fails only if Raw has closed it
}

// commit runs the jobs of a group and commits those that do not fail. Its error is for all of them.
func (w *writer) commit(ctx context.Context, tx *sql.Tx, group []*job) error {
	good := 0
	for _, j := range group {
		if err := j.run(ctx, tx); err != nil {
			_ = tx.Rollback() // usually SQLite has already done it
			return err
		}
		if j.err == nil {
			good++
		} else {
			w.unknown()
		}
	}
	if good == 0 { // a commit would write pages that were changed and changed back
		if err := tx.Rollback(); err != nil {
			return fmt.Errorf("roll back: %w", err)
		}
		return nil
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// run runs j within the transaction of its group, so that it leaves no trace if it fails. An error means that the whole
// transaction is lost: SQLite ends it by itself when the disk is full, for example.
func (j *job) run(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, "SAVEPOINT job"); err != nil {
		return fmt.Errorf("savepoint: %w", err)
	}
	j.call(ctx, tx)
	end := "RELEASE job"
	if j.err != nil {
		end = "ROLLBACK TO job; RELEASE job"
	}
	if _, err := tx.ExecContext(ctx, end); err != nil {
		return errors.Join(j.err, fmt.Errorf("transaction of a group: %w", err))
	}
	return nil
}

// call turns a panic into an error of its own job. Other jobs share the transaction's goroutine, and their callers wait
// for a result.
func (j *job) call(ctx context.Context, tx *sql.Tx) {
	defer func() {
		if v := recover(); v != nil {
			j.panicked = fmt.Sprintf("%v [in a write transaction]\n%s", v, debug.Stack())
			j.err = errors.New("panic in a write transaction")
		}
	}()
	j.err = j.f(ctx, tx)
}
