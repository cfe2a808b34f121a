package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
)

// maxIndexLag limits the messages waiting to be indexed. Find scans them, so there must be few: beyond this number the
// writer indexes them itself, and all writes wait for it.
const maxIndexLag = 3 * indexBatch

// indexer indexes the newest messages concurrently with the writer. The slow part, reading them and splitting them into
// terms, needs no write transaction; only the insertion does.
type indexer struct {
	db   *DB
	due  chan struct{} // a batch is waiting
	stop context.CancelFunc
	done chan struct{} // closed when run has returned

	complete  atomic.Bool  // a write that may not be committed yet has completed a batch
	edits     atomic.Int64 // number of changes to stored messages
	uncertain atomic.Bool  // a write that may not be committed yet has changed messages

	failed atomic.Pointer[error] // the last indexing error; nil = it succeeded

	mu   sync.Mutex // held while indexing
	read func()     // called after messages were read and before they are indexed; nil = no call
}

func newIndexer(d *DB) *indexer { return &indexer{db: d, due: make(chan struct{}, 1)} }

// start starts indexing, until close.
func (x *indexer) start() {
	ctx, stop := context.WithCancel(context.Background())
	x.stop, x.done = stop, make(chan struct{})
	go x.run(ctx)
}

// close waits for indexing to stop. What is not indexed yet will be when the database is opened again.
func (x *indexer) close() {
	if x == nil || x.stop == nil {
		return
	}
	x.stop()
	<-x.done
}

func (x *indexer) run(ctx context.Context) {
	defer close(x.done)
	for {
		select {
		case <-ctx.Done():
			return
		case <-x.due:
			x.catchUp(ctx)
		}
	}
}

// groupFinished is called after each group of writes, before the next one begins.
func (x *indexer) groupFinished() {
	if x.uncertain.Swap(false) {
		x.edits.Add(1)
	}
	if x.complete.Swap(false) {
		select {
		case x.due <- struct{}{}:
		default: // run will see this batch, too
		}
	}
}

// invalidate invalidates a batch that was read before this write commits.
func (x *indexer) invalidate() {
	x.edits.Add(1)
	x.uncertain.Store(true)
}

// catchUp indexes batches until none is full. After an error the next batch retries; see [Search.Err].
func (x *indexer) catchUp(ctx context.Context) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for more := true; more && ctx.Err() == nil; {
		var err error
		if more, err = x.index(ctx); err != nil && ctx.Err() == nil {
			x.failed.Store(&err)
			return
		}
	}
}

// errOvertaken means that the messages of a batch, or the index, have changed since the batch was read.
var errOvertaken = errors.New("the messages have changed meanwhile")

// index indexes the waiting messages if they fill a batch, and reports whether they did.
func (x *indexer) index(ctx context.Context) (bool, error) {
	edits := x.edits.Load() // before the messages are read
	var upto, newest int64
	if err := x.db.read.QueryRowContext(ctx, indexProgress).Scan(&upto, &newest); err != nil {
		return false, fmt.Errorf("state of the index: %w", err)
	}
	if newest < upto+indexBatch {
		return false, nil // not a full batch yet
	}
	list, last, err := toIndex(ctx, x.db.read, upto, maxIndexLag)
	if err != nil {
		return false, fmt.Errorf("read messages to index: %w", err)
	}
	if last < upto+indexBatch { // the newest ones are recalled
		return false, nil
	}
	rows, err := indexRows(list)
	if err != nil {
		return false, err
	}
	if x.read != nil {
		x.read()
	}
	err = x.db.namedTx(ctx, theIndex, func(ctx context.Context, tx *sql.Tx) error {
		if x.edits.Load() != edits {
			return errOvertaken
		}
		res, err := tx.ExecContext(ctx, moveIndexed, last, upto)
		if err != nil {
			return fmt.Errorf("record the state of the index: %w", err)
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, errOvertaken)
		}
		return insertRows(ctx, tx, rows)
	})
	if errors.Is(err, errOvertaken) { // constant edits must not keep the index from growing
		err = x.db.namedTx(ctx, theIndex, func(ctx context.Context, tx *sql.Tx) error {
			return x.tryIndexing(ctx, tx, maxIndexLag)
		})
		return err == nil && x.failed.Load() == nil, err
	}
	if err == nil {
		x.failed.Store(nil)
	}
	return err == nil, err
}

const moveIndexed = `UPDATE indexed SET upto = ?1 WHERE upto = ?2`

// insertAllTerms inserts many rows in one statement, because a statement costs as much as a row. SQLite parses an object
// once, and an array of arrays once more for each row.
const insertAllTerms = `INSERT INTO terms (rowid, list) SELECT CAST(key AS INTEGER), atom FROM json_each(?1)`

// indexRows are the messages' rows in the index, as a JSON object in the order of the index.
func indexRows(list []indexEntry) (string, error) {
	sortEntries(list)
	rows := []byte("{")
	for i, e := range list {
		terms, err := json.Marshal(strings.Join(indexTerms(e.Message), " "))
		if err != nil {
			return "", err
		}
		if i > 0 {
			rows = append(rows, ',')
		}
		rows = fmt.Appendf(rows, `"%d":%s`, e.row(), terms)
	}
	return string(append(rows, '}')), nil
}

func insertRows(ctx context.Context, tx *sql.Tx, rows string) error {
	if _, err := tx.ExecContext(ctx, insertAllTerms, rows); err != nil {
		return fmt.Errorf("index messages: %w", err)
	}
	return nil
}

// The index grows in segments, and a search looks up each word in every segment. Merging them makes a search in a
// million messages twice as fast. The first step, with a negative number of pages, starts the merge, and the others
// continue it (page "SQLite FTS5 Extension", The 'merge' Command).
const mergeTerms = `INSERT INTO terms (terms, rank) VALUES ('merge', ?1)`

// mergeStep is how many pages of the index are written in one transaction, during which other writes wait.
const mergeStep = 256

const changes = `SELECT total_changes()`

// merge merges the index into one segment, step by step. It takes about a second for a million messages.
func (x *indexer) merge(ctx context.Context) error {
	for pages, more := -mergeStep, true; more; pages = mergeStep {
		err := x.db.namedTx(ctx, theIndex, func(ctx context.Context, tx *sql.Tx) error {
			var before, after int
			if err := tx.QueryRowContext(ctx, changes).Scan(&before); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, mergeTerms, pages); err != nil {
				return err
			}
			err := tx.QueryRowContext(ctx, changes).Scan(&after)
			more = after-before >= 2 // the command itself makes one change
			return err
		})
		if err != nil {
			return fmt.Errorf("merge the index: %w", err)
		}
	}
	return nil
}
