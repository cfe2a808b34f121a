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

// groupLimit is how many transactions are committed together at most.
const groupLimit = 256

// writer carries out write transactions. Those that wait while another commits are then committed together: the disk
// is asked to sync once for all of them, not once for each.
type writer struct {
	pool    *sql.DB       // one connection
	leading chan struct{} // holds a token while a group is carried out
	settled func()        // called after a group's commit or rollback, before anybody is told of it

	path        string
	files       *openFiles // nil when only reading
	walLimit    int64
	trimAt      int64 // the size of the log from which trim acts
	readersTime time.Duration

	mu      sync.Mutex
	waiting []*job
}

// job is one write transaction.
type job struct {
	f        func(ctx context.Context, tx *sql.Tx) error
	done     chan struct{} // closed at the end; before that the fields below belong to the group that carries it out
	err      error
	panicked string // what f panicked with, and where; empty = it did not
}

func newWriter(pool *sql.DB, path string, files *openFiles, settled func()) *writer {
	return &writer{
		pool: pool, leading: make(chan struct{}, 1), settled: settled, path: path, files: files,
		walLimit: walLimit, trimAt: walLimit, readersTime: readersTime,
	}
}

// do runs f in a transaction and commits it unless f fails. ctx bounds the wait for f to begin.
// f runs on another goroutine; when it panics, so does do.
func (w *writer) do(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("wait for the writer: %w", err)
	}
	if err := w.files.isLost(); err != nil {
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
		case w.leading <- struct{}{}: // nobody writes
			go w.lead()
		case <-ctx.Done():
			if w.withdraw(j) {
				return fmt.Errorf("wait for the writer: %w", ctx.Err())
			}
			ctx = context.WithoutCancel(ctx) // it has begun: it is short, and its end must be known
		}
	}
}

// close closes the writer's connection, after the group that is being carried out. Whoever comes later gets an error.
func (w *writer) close() error {
	w.leading <- struct{}{}
	defer func() { <-w.leading }()
	return w.pool.Close()
}

// withdraw reports whether j still waited; it does not any more.
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

// whoWaits returns a copy, since jobs may leave the list at any time.
func (w *writer) whoWaits() []*job {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.waiting)
}

// collectGroup takes the next group from those who wait.
func (w *writer) collectGroup() []*job {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := min(len(w.waiting), groupLimit)
	group := slices.Clone(w.waiting[:n])
	w.waiting = slices.Delete(w.waiting, 0, n)
	return group
}

// lead carries out one group. Its statements are not interrupted. (That is faster, too: the driver watches every
// statement of a context that can end from a goroutine of its own.)
func (w *writer) lead() {
	defer func() { <-w.leading }()
	ctx := context.Background()
	first := w.whoWaits()
	if len(first) == 0 {
		return
	}
	conn, tx, err := w.begin(ctx)
	if err != nil {
		// Who came while this waited for a lock has a wait of its own ahead.
		for _, j := range first {
			if w.withdraw(j) {
				j.err = err
				close(j.done)
			}
		}
		return
	}
	group := w.collectGroup() // also of those who came while this waited for a lock
	err = commit(ctx, tx, group)
	w.settled()
	for _, j := range group {
		if j.err == nil {
			j.err = err
		}
		close(j.done)
	}
	w.trim(ctx, conn)
	w.release(conn)
}

// begin checks the files for every transaction: a commit into a file that was deleted or
// replaced would be lost without an error.
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
	if err := w.files.check(); err != nil {
		_ = tx.Rollback() // nothing was done yet
		w.release(conn)
		return nil, nil, err
	}
	return conn, tx, nil
}

// release gives the connection back, but closes one on which a transaction is still open: no other could begin there.
func (w *writer) release(conn *sql.Conn) {
	_ = conn.Raw(func(c any) error {
		if inTransaction(c) {
			return driver.ErrBadConn
		}
		return nil
	})
	_ = conn.Close() // fails only when Raw has closed it
}

// commit runs the jobs of a group and commits those that do not fail. Its error is for all of them.
func commit(ctx context.Context, tx *sql.Tx, group []*job) error {
	good := 0
	for _, j := range group {
		if err := j.run(ctx, tx); err != nil {
			_ = tx.Rollback() // SQLite has done it already, most often
			return err
		}
		if j.err == nil {
			good++
		}
	}
	if good == 0 { // a commit would write the pages that were changed and changed back
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

// run runs j within the transaction of its group, so that it leaves no trace when it fails. An error says that the
// whole transaction is lost: SQLite ends it by itself when the disk is full, for example.
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

// call turns a panic into an error of its own job. Other jobs share the transaction's goroutine, and
// their callers wait for an answer.
func (j *job) call(ctx context.Context, tx *sql.Tx) {
	defer func() {
		if v := recover(); v != nil {
			j.panicked = fmt.Sprintf("%v [in a write transaction]\n%s", v, debug.Stack())
			j.err = errors.New("panic in a write transaction")
		}
	}()
	j.err = j.f(ctx, tx)
}
